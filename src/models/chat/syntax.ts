/**
 * Syntax of chat templates: the part of Jinja that the templates of published models use. Text, `{{ expression }}`, `{% statement %}`
 * and `{# comment #}`; blocks are trimmed as transformers trims them (trim_blocks, lstrip_blocks). Anything else is refused by name. tokens.ts reads the tokens, parse.ts the statements.
 */

/** An expression. */
export type TemplateExpression =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "list"; readonly items: readonly TemplateExpression[] }
  | {
      readonly kind: "dict";
      readonly entries: readonly (readonly [TemplateExpression, TemplateExpression])[];
    }
  | { readonly kind: "item"; readonly of: TemplateExpression; readonly key: TemplateExpression }
  | {
      readonly kind: "slice";
      readonly of: TemplateExpression;
      readonly parts: readonly (TemplateExpression | undefined)[];
    }
  | { readonly kind: "call"; readonly callee: TemplateExpression; readonly call: CallArguments }
  | {
      readonly kind: "filter";
      readonly of: TemplateExpression;
      readonly name: string;
      readonly call: CallArguments;
    }
  | {
      readonly kind: "test";
      readonly of: TemplateExpression;
      readonly name: string;
      readonly not: boolean;
      readonly call: CallArguments;
    }
  | { readonly kind: "unary"; readonly operator: string; readonly of: TemplateExpression }
  | {
      readonly kind: "binary";
      readonly operator: string;
      readonly left: TemplateExpression;
      readonly right: TemplateExpression;
    }
  | {
      readonly kind: "if";
      readonly condition: TemplateExpression;
      readonly then: TemplateExpression;
      readonly otherwise?: TemplateExpression;
    };

/** Arguments of a call. */
export interface CallArguments {
  readonly positional: readonly TemplateExpression[];
  readonly named: ReadonlyMap<string, TemplateExpression>;
}

/** A statement. */
export type Statement =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "output"; readonly of: TemplateExpression }
  | {
      readonly kind: "set";
      readonly target: TemplateExpression | readonly string[];
      readonly value: TemplateExpression | readonly Statement[];
    }
  | {
      readonly kind: "for";
      readonly names: readonly string[];
      readonly of: TemplateExpression;
      readonly condition?: TemplateExpression;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly kind: "if";
      readonly branches: readonly {
        readonly condition?: TemplateExpression;
        readonly body: readonly Statement[];
      }[];
    }
  | {
      readonly kind: "macro";
      readonly name: string;
      readonly parameters: readonly { readonly name: string; readonly otherwise?: TemplateExpression }[];
      readonly body: readonly Statement[];
    }
  | { readonly kind: "break" | "continue" };
