"""Golden data of chat templates: templates in the manner of published models, and what transformers (jinja2) renders from them.

    python make.py [FILE.jinja ...]      writes cases.json; files named are rendered too, into /tmp/heed-chat.json
"""
import json, os, sys
from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = {
    "chatml": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "chatml with a system message": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message.role + '\n' + message.content | trim + '<|im_end|>\n'}}{% endfor %}",
    "header tokens": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start|>' + message['role'] + '<|end|>\n\n'+ message['content'] | trim + '<|eot|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}",
    "turns": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<turn>' + role + '\n' + message['content'] | trim + '<end>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<turn>model\n'}}{% endif %}",
    "blocks on lines": """{%- if messages[0].role == "system" -%}
    {%- set system = messages[0].content -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set rest = messages -%}
{%- endif %}

{%- for m in rest %}
    {% if m.role == "user" %}
[INST] {% if loop.last and system is defined %}{{ system }}

{% endif %}{{ m.content }} [/INST]
    {% else %}
 {{ m.content }}{{ eos_token }}
    {% endif %}
{% endfor %}
done
""",
    "tools": "{% if tools %}{% for tool in tools %}{{ tool | tojson }}\n{{ tool | tojson(indent=2) }}\n{% endfor %}{% else %}none{% endif %}",
    "namespace and macro": "{% set ns = namespace(count=0, last='') %}{% macro shout(text, mark='!') %}{{ text | upper }}{{ mark }}{% endmacro %}{% for m in messages if m.role != 'system' %}{% set ns.count = ns.count + 1 %}{% set ns.last = m.content %}{{ shout(m.content) }} {{ shout(m.content, mark='?') }} {{ loop.index }}/{{ loop.length }} {% endfor %}{{ ns.count }} {{ ns.last }}",
    "texts": "{{ messages[-1].content.split(' ')[-1] }}|{{ messages[0].content[::-1] }}|{{ messages[0].content[:3] }}|{{ messages[0].content[-2:] }}|{{ 'a' in messages[0].content }}|{{ messages[0].content.strip().upper() }}|{{ messages[0]['content'].startswith('W') }}|{{ messages | length }}|{{ messages[0].missing }}|{{ messages[0].missing is defined }}|{{ ['a', 1, none, true] }}|{{ {'k': 'it\\'s', 'n': 1.5} }}|{{ 7 // 2 }} {{ 7 % 3 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ 2 * 3 + 1 }} {{ 'x' ~ 5 ~ none }}|{{ messages | map(attribute='role') | join(', ') }}|{{ messages | selectattr('role', 'equalto', 'user') | list | length }}|{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='content') | first | default('-') }}|{{ missing | default('d') }}|{{ '' or 'other' }}|{{ 'yes' if 1 < 2 <= 2 else 'no' }}|{{ 'a' 'b' }}|{{ ('x', 'y') | join('') }}",
    "break and else": "{% for m in messages %}{% if m.role == 'assistant' %}{% break %}{% endif %}{{ m.content }};{% else %}empty{% endfor %}{% for x in [] %}x{% else %}none{% endfor %}{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }}{{ ',' if not loop.last }}{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{# a comment -#}   end",
    "thinking": "{% for m in messages %}{% set content = m.content %}{% if m.role == 'assistant' and '</think>' in content %}{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ m.role }}: {{ content }}\n{% endfor %}{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>{% endif %}{% generation %}x{% endgeneration %}",
}
USER = {"role": "user", "content": " What is attention? "}
SYSTEM = {"role": "system", "content": "Be brief."}
ANSWER = {"role": "assistant", "content": "<think>\nhm</think>\n\nA weighted mean: it's \"soft\" <b> & é."}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}, "required": ["a"], "n": [1, 2.5, None, True]}}}]
CONVERSATIONS = [[USER], [SYSTEM, USER], [USER, ANSWER, USER], [SYSTEM, USER, ANSWER, USER], [USER, USER]]


def cases(templates):
    out = []
    for name, template in templates.items():
        for n, messages in enumerate(CONVERSATIONS):
            for variables in ({"add_generation_prompt": True}, {"add_generation_prompt": False, "tools": TOOLS, "enable_thinking": False}):
                names = {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None} | variables
                try:
                    want = {"text": _compile_jinja_template(template).render(**names)}
                except Exception as error:
                    want = {"error": str(error)}
                out.append({"name": name, "template": template, "variables": names, **want})
    return out


with open(os.path.join(HERE, "cases.json"), "w") as file:
    own = cases(TEMPLATES)
    json.dump({"templates": TEMPLATES, "cases": [{k: v for k, v in case.items() if k != "template"} for case in own]}, file, ensure_ascii=False, indent=1)
if len(sys.argv) > 1:
    with open("/tmp/heed-chat.json", "w") as file:
        more = {os.path.basename(path): open(path).read() for path in sys.argv[1:]}
        json.dump({"templates": more, "cases": [{k: v for k, v in case.items() if k != "template"} for case in cases(more)]}, file)
