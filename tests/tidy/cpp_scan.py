"""Finds functions and declared names in C++ sources, by tokens and braces alone: no compiler, no preprocessor.

It reads the C++ that clang-format writes here. A brace at namespace or class scope opens a namespace, a type, a function or an
initializer; the tokens of its statement tell which. What is inside of a function is counted in lines and not looked into.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<skip>//(?:\\\n|[^\n])*|/\*.*?\*/|\\\n)
  | (?P<directive>^[ \t]*\#(?:\\\n|//[^\n]*|/\*.*?\*/|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<symbol>\[\[|\]\]|::|->|<<|<=|>=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
TYPE_WORDS = {"class", "struct", "union", "enum"}
CLOSING = {"(": ")", "{": "}", "[": "]", "[[": "]]"}
# Words before a parenthesis that are no function's name.
NO_NAME = {"alignas", "decltype", "explicit", "noexcept", "requires", "sizeof", "static_assert", "__attribute__", "defined", "if", "asm"}


@dataclass
class Token:
    text: str
    line: int


@dataclass
class Function:
    name: str
    line: int
    lines: int


@dataclass
class Name:
    kind: str  # type, function, constant, enumerator, private_member
    text: str
    line: int


def tokens_of(text):
    """Comments and preprocessor directives left out; a string is one token '""'."""
    line, last = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        kind = match.lastgroup if match.lastgroup != "mark" else "raw"
        if kind in ("skip", "directive"):
            continue
        yield Token('""' if kind in ("raw", "string") else match.group(), line)


class Scan:
    """functions: every function with a body; names: what is declared at namespace and class scope."""

    def __init__(self, text):
        self.tokens = list(tokens_of(text))
        self.functions = []
        self.names = []
        self._scope(0, len(self.tokens), None)

    def _close(self, begin):
        """The place of the token that closes what the one at `begin` opens."""
        opening = self.tokens[begin].text
        closing, depth = CLOSING[opening], 0
        for at in range(begin, len(self.tokens)):
            text = self.tokens[at].text
            depth += (text == opening) - (text == closing)
            if depth == 0:
                return at
        return len(self.tokens) - 1

    def _angles(self, begin):
        """Behind the `>` that closes the `<` at `begin`; behind that one itself if it is a comparison."""
        depth, at = 0, begin
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text in (";", ")", "}"):
                return begin + 1
            if text in CLOSING:
                at = self._close(at)
            depth += (text == "<") - (text == ">")
            at += 1
            if depth == 0:
                break
        return at

    def _scope(self, at, end, type_name):
        """Statements of a namespace, or of a type with that name. Access begins as that of a class's."""
        private = type_name is not None and type_name[0] == "class"
        while at < end:
            text = self.tokens[at].text
            if text in (";", "}"):
                at += 1
            elif text in ("public", "private", "protected") and at + 1 < end and self.tokens[at + 1].text == ":":
                private, at = text != "public", at + 2
            else:
                at = self._statement(at, end, type_name, private)

    def _statement(self, begin, end, type_name, private):
        """One declaration or definition; returns the place behind it."""
        at = begin
        while at + 1 < end and self.tokens[at].text == "template":
            if self.tokens[at + 1].text != "<":  # an explicit instantiation declares nothing
                while at < end and self.tokens[at].text != ";":
                    at += 1
                return at + 1
            at = self._angles(at + 1)
            if at < end and self.tokens[at].text == "requires":
                at = self._skip_requirement(at + 1, end)
        head = []  # the statement without what is in brackets: "(" stands for "(...)"
        colon = assigned = False
        while at < end:
            text = self.tokens[at].text
            if text == ";":
                self._declared(begin, head, type_name, private)
                return at + 1
            if text == "{":
                at_end, done = self._brace(begin, at, head, colon, assigned, type_name, private)
                if done:
                    return at_end
                at = at_end
                head.append("{")
                continue
            head.append(self.tokens[at])
            if text in ("(", "[", "[["):
                at = self._close(at)
            elif text == "<" and not assigned and re.fullmatch(r"[A-Za-z_]\w*", self.tokens[at - 1].text):
                at = self._angles(at)
                continue
            elif text == "operator":
                at += 1
                while at < end and self.tokens[at].text != "(":
                    at += 1
                at = at if self.tokens[at + 1].text != ")" or self.tokens[at + 2].text != "(" else at + 2
                continue
            elif text == "=":
                assigned = True
            elif text == ":" and any(is_token(part, "(") for part in head):
                colon = True
            at += 1
        return end

    def _skip_requirement(self, at, end):
        """Behind a requires-clause of a template: a name with arguments, parentheses or a requires-expression, joined by && or ||."""
        while at < end:
            text = self.tokens[at].text
            if text == "requires":
                at += 1
                at = self._close(at) + 1 if self.tokens[at].text == "(" else at
                at = self._close(at) + 1
            elif text == "(":
                at = self._close(at) + 1
            else:
                at += 1
                while at < end and self.tokens[at].text in ("::", "<"):
                    at = self._angles(at) if self.tokens[at].text == "<" else at + 2
            if at < end and self.tokens[at].text in ("&", "|"):
                at += 2
            else:
                return at
        return at

    def _brace(self, begin, at, head, colon, assigned, type_name, private):
        """What a brace at `at` opens. Returns the place behind it, and whether that ends the statement."""
        close = self._close(at)
        words = [part.text for part in head if part != "{"]
        parens = "(" in words
        kind = next((word for word in words if word in TYPE_WORDS), None)
        if words[:1] == ["namespace"] or words[:2] == ["inline", "namespace"] or words[:1] == ["extern"] and words[-1:] == ['""']:
            self._scope(at + 1, close, None)
            return close + 1, True
        if kind and not assigned and self._is_type(head):
            name = self._type_name(head)
            if name:
                self.names.append(Name("type", name.text, name.line))
            if kind == "enum":
                self._enumerators(at + 1, close)
            else:
                self._scope(at + 1, close, (kind, name.text if name else ""))
            return close + 1, False
        before = self.tokens[at - 1].text
        if parens and not assigned and not (colon and re.fullmatch(r"\w+|>", before)):
            self._function(begin, close, head, type_name)
            return close + 1, True
        return close + 1, False  # an initializer

    @staticmethod
    def _is_type(head):
        """`struct alignas(64) X : Base<Y>` and not `struct X* f() const`."""
        for at, part in enumerate(head):
            if is_token(part, "(") and not (at and is_token(head[at - 1], "alignas")):
                return False
        return True

    @staticmethod
    def _type_name(head):
        name = None
        begun = False
        for part in head:
            if part == "{" or part.text in (":", "<", "final"):
                if begun and name:
                    break
                continue
            if part.text in TYPE_WORDS:
                begun = True
            elif begun and re.fullmatch(r"[A-Za-z_]\w*", part.text) and part.text != "alignas":
                name = part
        return name

    def _enumerators(self, at, end):
        expected = True
        while at < end:
            text = self.tokens[at].text
            if expected and re.fullmatch(r"[A-Za-z_]\w*", text):
                self.names.append(Name("enumerator", text, self.tokens[at].line))
                expected = False
            elif text in CLOSING:
                at = self._close(at)
            elif text == ",":
                expected = True
            at += 1

    def _function(self, begin, close, head, type_name):
        name = self._function_name(head)
        first, last = self.tokens[begin].line, self.tokens[close].line
        text = name.text if name else type_name[1] if type_name else "?"
        if re.fullmatch("[A-Z][A-Z0-9_]*", text):  # a macro, whose arguments are the name: TEST(Suite, Case)
            opening = next(at for at in range(begin, close) if self.tokens[at].text == "(")
            text += "".join(token.text for token in self.tokens[opening : self._close(opening) + 1])
        self.functions.append(Function(text, first, last - first + 1))
        if name:
            self._name_function(name, type_name)

    def _name_function(self, name, type_name):
        if not (type_name and name.text == type_name[1]) and name.text != "operator":
            self.names.append(Name("function", name.text, name.line))

    @staticmethod
    def _function_name(head):
        for at, part in enumerate(head):
            if part == "{" or part.text == "=":
                return None
            if part.text == "operator":
                return part
            if part.text == "(" and at and head[at - 1] != "{":
                if at + 1 < len(head) and is_token(head[at + 1], "("):
                    return None  # a pointer to a function
                before = head[at - 1]
                if re.fullmatch(r"[A-Za-z_]\w*", before.text) and before.text not in NO_NAME:
                    names = [word.text for word in head[:at] if word != "{" and word.text != "<"]
                    constructor = names[-3:] == [before.text, "::", before.text]
                    return None if constructor or names[-2:-1] == ["~"] else before
        return None

    def _declared(self, begin, head, type_name, private):
        """A statement without a body that ends with a semicolon."""
        words = [part if part == "{" else part.text for part in head]
        if not words or words[0] in ("using", "typedef", "friend", "static_assert", "namespace", "extern"):
            if words[:1] == ["using"] and "=" in words:
                self.names.append(Name("type", words[1], head[1].line))
            return
        if words[0] == "concept":
            self.names.append(Name("type", words[1], head[1].line))
            return
        if any(word in TYPE_WORDS for word in words) and self._is_type([part for part in head if part != "{"]):
            if "{" not in words or words[-1] == "{":
                return  # a forward declaration, or a type without a variable behind it
        name = self._function_name(head)
        if name and not re.match("k[A-Z]", name.text):  # else a constant, made by a constructor
            self._name_function(name, type_name)
            return
        self._variable(head, words, type_name, private)

    def _variable(self, head, words, type_name, private):
        stop = next((at for at, word in enumerate(words) if word in ("=", "{", "[", ":")), len(words))
        if not stop or stop > len(head) or head[stop - 1] == "{":
            return
        name = head[stop - 1]
        if not re.fullmatch(r"[A-Za-z_]\w*", name.text):
            return
        if "constexpr" in words[:stop]:
            self.names.append(Name("constant", name.text, name.line))
        elif private and "static" not in words[:stop]:
            self.names.append(Name("private_member", name.text, name.line))


def is_token(part, text):
    return part != "{" and part.text == text
