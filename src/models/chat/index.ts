/** Chat templates: a conversation as the prompt that a model was trained on. The template is in the model's files. */
import { checkArgument, checkCount, OptionError, refuseValue } from "../../core/errors.ts";
import { checkKinds, KINDS } from "../../core/option-names.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import { renderTemplate } from "./render.ts";
import { type TemplateValue, templateValue } from "./values.ts";

/** A message of a conversation. */
export interface ChatMessage {
  /** "system", "user", "assistant" or another role of the template. */
  readonly role: string;
  readonly content: string;
  /** Other fields that the template reads. */
  readonly [field: string]: unknown;
}

/** Options of `chatPrompt`. */
export interface ChatOptions {
  /** Ends the prompt where the model's answer begins. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Further variables of the template: `tools`, `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/**
 * The prompt of a conversation, with the special tokens of the template: tokenize it without adding others
 * (`generateText(model, prompt, { addSpecialTokens: false })`).
 *
 * @throws OptionError where the model's files have no template; FormatError for a construct of Jinja that heed does not have
 * @example
 * const model = await readModel("./SmolLM2-135M-Instruct");
 * const prompt = chatPrompt(model, [{ role: "user", content: "What is attention?" }]);
 * for (const piece of generateText(model, prompt, { addSpecialTokens: false })) process.stdout.write(piece);
 */
export function chatPrompt(
  model: TextModel,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): string {
  checkCount("chatPrompt", arguments, 3);
  const what = "chatPrompt";
  checkTextModel(what, model);
  checkKinds(what, options, { "": "addGenerationPrompt", "an object": "variables" });
  const isMessages =
    KINDS["a list of objects"](messages) &&
    messages.length > 0 &&
    messages.every((one) => typeof one?.role === "string");
  checkArgument(isMessages, what, "a list of messages, each with a role and a content", messages);
  // Some templates take a list of parts as content; a message with calls of tools may have none.
  for (const { content, tool_calls } of messages as readonly Partial<ChatMessage>[])
    if (
      !(typeof content === "string" || KINDS["a list of objects"](content) || (content == null && tool_calls))
    )
      refuseValue(what, "content", "a text or a list of objects", content);
  const { chat, name } = model;
  if (chat === undefined)
    throw new OptionError(
      "chat-template",
      `${what}: ${name} has no chat template (chat_template of tokenizer_config.json, chat_template.jinja, or tokenizer.chat_template of a GGUF file); it continues a text: use generateText with the text itself`,
      { model: name },
    );
  const variables = new Map<string, TemplateValue>([
    ...(Object.entries(chat.tokens) as [string, TemplateValue][]),
    ["messages", templateValue(messages)],
    ["add_generation_prompt", options.addGenerationPrompt ?? true],
    ["tools", null],
    ["documents", null],
  ]);
  for (const [name, value] of Object.entries(options.variables ?? {}))
    variables.set(name, templateValue(value));
  return renderTemplate(chat.template, variables);
}
