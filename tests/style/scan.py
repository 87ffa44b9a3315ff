"""Finds the functions of a C++ file: enough of a scanner for the house's own style, no more.

Comments, strings and preprocessor lines are blanked (line numbers stay). A brace opens a
container (namespace, class, ...), a function (in a container, after a parameter list), a control
block (if, for, while, switch, else, do), or something else (a lambda, an initializer).
"""
import re
from dataclasses import dataclass

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                   r'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
CONTROL = re.compile(r"^\s*(else\b|do\b|try\b|(\}?\s*(else\s+)?)?(if|for|while|switch|catch)\b)")
SIGNATURE = re.compile(r"([~\w:]+|operator[^\s(]+|operator\(\))\s*\((.*)\)[^()]*$", re.S)


@dataclass
class Function:
    name: str
    line: int
    length: int
    parameters: int
    nesting: int


def blank(text):
    """Keeps every newline, so that line numbers stay."""
    return BLANK.sub(lambda found: re.sub(r"[^\n]", " ", found.group()) if found.group()[0] not in "\"'"
                     else '""', text)


def without_initializers(head):
    """Cuts a constructor's member initializers and trailing words off a signature."""
    head = re.sub(r"\b(public|private|protected)\s*:", " ", head)
    depth = 0
    for at, letter in enumerate(head):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ":" and depth == 0 and head[at - 1:at] != ":" and head[at + 1:at + 2] != ":":
            return head[:at]
    return head


def count_parameters(text):
    depth, count = 0, 1 if text.strip() not in ("", "void") else 0
    for letter in text:
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(letter, 0)
        count += letter == "," and depth == 0
    return count


def classify(head, stack):
    head = re.sub(r"\balignas\([^()]*\)", "", head)
    if stack and stack[-1] in ("function", "control", "other"):
        return "control" if CONTROL.match(head) else "other"
    if re.search(r"\)[^()=]*$", without_initializers(head)) and "=" not in head.split("(")[0]:
        return "function"
    return "container" if CONTAINER.search(head) else "other"


def functions(text):
    text = blank(text)
    stack, opened, done, start, parens = [], [], [], 0, 0
    for mark in re.finditer(r"[{}();]", text):
        at, letter = mark.start(), mark.group()
        parens += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "{":
            head = text[start:at]
            stack.append(classify(head, stack))
            control = stack.count("control")
            for entry in opened:
                entry["nesting"] = max(entry["nesting"], control)
            if stack[-1] == "function":
                opened.append({"nesting": 0, "at": at, "head": head})
        elif letter == "}" and stack:
            if stack.pop() == "function":
                done.append({**opened.pop(), "end": at})
        # A for's semicolons stand in parentheses and end no statement.
        if letter in "{}" or (letter == ";" and parens <= 0):
            start = at + 1
            parens = 0 if letter == ";" else parens
    for entry in done:
        match = SIGNATURE.search(without_initializers(entry["head"]))
        if match is None:
            continue
        first = text.count("\n", 0, entry["at"]) + 1
        last = text.count("\n", 0, entry["end"]) + 1
        yield Function(match.group(1), first, last - first + 1, count_parameters(match.group(2)),
                       entry["nesting"])
