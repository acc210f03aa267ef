"""Parses the line of a magic: words, options, and name=expression.

A line that cannot be parsed raises a UsageError. It names the word that is wrong and shows the
correct line, with the user's own words.
"""

import keyword
import re
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import parse_argstring

AUTOGRAD = "%%autograd [NAME] [--engine graph|tape|recursive] [--both] [--no-widget] [--open]"


def words_of(line: str) -> list[str]:
    """The words of a line; text in brackets or quotes stays together.

    >>> words_of("z x1=(a + 1) x2=f(b, c)")
    ['z', 'x1=(a + 1)', 'x2=f(b, c)']
    """
    words = [""]
    depth, quote = 0, ""
    for c in line:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        else:
            depth += (c in "([{") - (c in ")]}")
        if c.isspace() and not depth and not quote:
            words.append("")
        else:
            words[-1] += c
    return [word for word in words if word]


def parsed(magic: Any, line: str) -> Any:
    """The options of a line; turns the parser's errors into helpful ones."""
    try:
        return parse_argstring(magic, line)
    except (UsageError, ValueError) as error:  # ValueError: a missing closing quote
        name = magic.__name__
        form = AUTOGRAD if name == "autograd" else f"%{name} [NAME]"
        raise UsageError(f"{form.split()[0]}: {error}. Write  {form}") from None


def tape_name(words: list[str]) -> str:
    """The single name for the tape."""
    if not words:
        return "tape"
    joined = "_".join(filter(None, (re.sub(r"\W+", "_", word).strip("_") for word in words)))
    if len(words) > 1:
        raise UsageError(
            f"%%autograd: a tape has one name, and {' '.join(words)!r} are {len(words)} words. "
            f"Write  %%autograd {joined}"
        )
    [name] = words
    if not name.isidentifier() or keyword.iskeyword(name):
        form = f"%%autograd {joined}" if joined.isidentifier() and joined != name else AUTOGRAD
        raise UsageError(
            f"%%autograd: a tape is bound to a variable name, and {name!r} is not one. Write  {form}"
        )
    return name


# The start of  name=expression; the name is that of a tensor, such as model[0].weight
NAMED = re.compile(r"([^\W\d]\w*(?:\.\w+|\[[^]]*])*)\s*=(?!=)\s*(.*)", re.DOTALL)


def gradients(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The tensor, and the (name, expression) of each gradient; raises an error that explains what is missing.

    >>> gradients("a + b, x1=y2 + 1, x2 = f(b, c=1)")
    ('a + b', [('x1', 'y2 + 1'), ('x2', 'f(b, c=1)')])
    """
    terms: list[str] = []
    for word in words_of(line):
        if terms and "=" not in terms[-1] and re.match("=(?!=)", word):  # a = b
            terms[-1] += word
        else:
            terms.append(word)
    texts, names = [""], list[str]()  # the tensor, then an expression for each name
    for term in terms:
        if begun := NAMED.fullmatch(term):
            names.append(begun[1])
            texts.append(begun[2])
        else:  # the expression goes on
            texts[-1] = f"{texts[-1]} {term}".lstrip()
    z, *texts = (text.rstrip(",") for text in texts)
    if not z and names:
        given = [f"{name}={text}" for name, text in zip(names, texts)]
        *rest, last = given[-1].split()  # %compare x1=x2 z
        first = " ".join([last, *given[:-1], *rest] if rest else ["z", *given])
        raise UsageError(f"%compare: the tensor to differentiate comes first: %compare {first}")
    if len(terms) < 2:
        raise UsageError("%compare: write the tensor, then each gradient: %compare z x1=y2")
    if not names:
        form = "is not of the form name=expression, as in  %compare z x1=y2"
        raise UsageError(f"%compare: {terms[-1]!r} {form}")
    for name, text in zip(names, texts):
        if not text:
            raise UsageError(f"%compare: an expression is missing after  {name}=")
    return z, list(zip(names, texts))
