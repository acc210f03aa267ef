"""A local web page for marking answers by hand: `minigrad mark OUT`.

It shows one answer at a time and writes the marks to manual.csv (gradebook/by_hand.py), without
JavaScript. The server listens on 127.0.0.1 only, and its address contains a random token, so that
other users of the machine cannot reach it. Students' text is escaped, as in all our pages.

The tasks and the pictures are beside the file with the marks, where `minigrad grade` wrote them.

    MarkingServer    serves the marks in a file until it is shut down
"""

import base64
import json
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from markupsafe import Markup

from minigrad.grading.files import locked
from minigrad.grading.gradebook import by_hand
from minigrad.grading.gradebook.csv_files import GradebookError, TableRow, points_text
from minigrad.grading.reports.pages import render_page
from minigrad.grading.run.notebook import MAX_PICTURES

MAX_SENT = 200_000  # bytes in a submitted form
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
}
ELSEWHERE = (
    "While you were editing, this answer was marked elsewhere or handed in again. The current mark is shown below, "
    "with what you wrote. Save again to replace it."
)

Reply = tuple[HTTPStatus, str]  # status, and the page or the redirect target


class MarkingServer(ThreadingHTTPServer):
    """Serves the marks in a CSV file on 127.0.0.1, at `address`.

    port    0: any free port
    """

    daemon_threads = True

    def __init__(self, path: Path, port: int = 0) -> None:
        by_hand.read_manual(path)  # fail now if the file is malformed
        self.path, self.token = path, secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """The URL to open, including the token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: object) -> None:
        """Ignore a browser that closed its connection; other errors are shown as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def listed(self) -> Reply:
        """The page that lists all answers by question, and shows which are still to be marked."""
        marks = list(_in_order(by_hand.read_manual(self.path)).values())
        questions: dict[str, list[by_hand.ManualMark]] = {}
        for mark in marks:
            questions.setdefault(mark.question, []).append(mark)
        waiting = [mark for mark in marks if _needs_marking(mark)]
        shown = {"questions": questions, "waiting": waiting, "link": _link}
        return HTTPStatus.OK, render_page("marking.html", isolation=(), **shown)

    def shown(
        self, cell: by_hand.GradebookCell, wrong: str = "", form: Mapping[str, str] | None = None
    ) -> Reply:
        """The page for one answer; `wrong` is the error in the submitted `form`, if any."""
        marks = _in_order(by_hand.read_manual(self.path))
        if cell not in marks:
            return HTTPStatus.NOT_FOUND, "There is no such answer."
        mark, cells = marks[cell], list(marks)
        place = cells.index(cell)
        points = "" if mark.points is None else points_text(mark.points)
        page = render_page(
            "mark.html",
            isolation=(),
            mark=mark,
            task=self._task(mark.question),
            pictures=[
                (name, url) for name in _named_in(mark.answer) for url in self._pictures(name)
            ],
            wrong=wrong,
            points=form["points"] if form else points,
            comment=form["comment"] if form else mark.comment,
            seen=_fingerprint(mark),
            number=place + 1,
            count=len(cells),
            before=_link(marks[cells[place - 1]]) if place else "",
            after=_link(marks[cells[place + 1]]) if place + 1 < len(cells) else "",
        )
        return (HTTPStatus.CONFLICT if wrong else HTTPStatus.OK), page

    def _task(self, question: str) -> str:
        """What is asked; "" if that is not known."""
        try:
            return str(
                json.loads((self.path.parent / by_hand.TASKS).read_bytes()).get(question, "")
            )
        except (OSError, ValueError):
            return ""

    def _pictures(self, name: str) -> Iterator[Markup]:
        """The data URL of a picture in an answer, if it is there."""
        folders = [self.path.parent, *self.path.parent.glob("*/")]  # or in that of its exercise
        for path in [path for folder in folders for path in folder.glob(f"pictures/{name}.*")][:1]:
            content = base64.b64encode(path.read_bytes()).decode()
            yield Markup(f"data:image/{path.suffix[1:]};base64,{content}")

    def saved(self, cell: by_hand.GradebookCell, form: Mapping[str, str]) -> Reply:
        """Save a mark and redirect to the next unmarked answer, or show the form with its error."""
        with locked(self.path):
            marks = by_hand.read_manual(self.path)
            if cell not in marks:
                return HTTPStatus.NOT_FOUND, "There is no such answer."
            mark, again = marks[cell], partial(self.shown, cell, form=form)
            try:
                points = TableRow(self.path, 0, form).points("points")
            except GradebookError:
                return again("Points must be a number that is not negative, such as 2.5.")
            if points is not None and points > mark.of:
                return again(f"This question has {points_text(mark.of)} points.")
            if len(form["comment"]) > by_hand.MAX_ANSWER:
                return again(f"A comment may have at most {by_hand.MAX_ANSWER} characters.")
            if form["seen"] != _fingerprint(mark):
                return again(ELSEWHERE)
            note = by_hand.GONE if mark.note == by_hand.GONE else ""
            version, comment = by_hand.fingerprint_of(mark.answer), form["comment"]
            marks[cell] = replace(mark, points=points, comment=comment, version=version, note=note)
            by_hand.write_manual(self.path, marks)
        cells = list(_in_order(marks))
        later = [*cells[cells.index(cell) + 1 :], *cells[: cells.index(cell)]]
        waiting = [marks[c] for c in later if _needs_marking(marks[c])]
        return HTTPStatus.SEE_OTHER, _link(waiting[0]) if waiting else "./"


def _named_in(answer: str) -> list[str]:
    """The fingerprints of the pictures in an answer."""
    return list(dict.fromkeys(re.findall(r"\(picture ([0-9a-f]{16})\)", answer)))[:MAX_PICTURES]


def _needs_marking(mark: by_hand.ManualMark) -> bool:
    """Does somebody still have to look at it?"""
    return (mark.points is None and mark.answer != "") or mark.note not in ("", by_hand.GONE)


def _in_order(
    marks: Mapping[by_hand.GradebookCell, by_hand.ManualMark],
) -> dict[by_hand.GradebookCell, by_hand.ManualMark]:
    """Order the marks by question, so that all answers to one question are marked together."""
    questions = list(dict.fromkeys(mark.question for mark in marks.values()))
    return dict(sorted(marks.items(), key=lambda item: questions.index(item[1].question)))


def _link(mark: by_hand.ManualMark) -> str:
    return f"mark?{urlencode({'student': mark.student, 'question': mark.question})}"


def _fingerprint(mark: by_hand.ManualMark) -> str:
    """A fingerprint of everything that the page shows about a mark and its answer."""
    return by_hand.fingerprint_of("\0".join((*mark.row()[3:5], mark.answer)))


class _Handler(BaseHTTPRequestHandler):
    """Handles one request. Without the token, every reply is 404."""

    server: MarkingServer
    server_version, sys_version = "minigrad", ""
    timeout = 30

    def do_GET(self) -> None:  # http.server requires this name
        """Show a page."""
        self._reply(None)

    def do_POST(self) -> None:
        """Save a submitted form."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_SENT:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The form is too large.")
            return
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        sent = parse_qs(text, keep_blank_values=True)
        form = {key: sent.get(key, [""])[-1].strip() for key in ("points", "comment", "seen")}
        self._reply({**form, "comment": form["comment"].replace("\r\n", "\n")})

    def _reply(self, form: Mapping[str, str] | None) -> None:
        path, _, query = self.path.partition("?")
        token, *rest = path.removeprefix("/").split("/")
        port = self.server.server_port
        here = self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")
        if not here or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.NOT_FOUND, "There is nothing here.")
            return
        fields = parse_qs(query)
        cell = fields.get("student", [""])[0], fields.get("question", [""])[0]
        try:
            if rest == ["mark"]:
                reply = self.server.shown(cell) if form is None else self.server.saved(cell, form)
            elif rest == [""] and form is None:
                reply = self.server.listed()
            else:
                reply = HTTPStatus.NOT_FOUND, "There is nothing here."
        except (GradebookError, OSError) as error:
            message = f"Nothing was written. {error}"
            reply = HTTPStatus.CONFLICT, render_page("wrong.html", isolation=(), message=message)
        self._send(*reply)

    def _send(self, status: HTTPStatus, text: str) -> None:
        content = b"" if status == HTTPStatus.SEE_OTHER else text.encode()
        self.send_response(status)
        if status == HTTPStatus.SEE_OTHER:
            self.send_header("Location", text)
        plain = not text.lstrip().startswith("<!doctype")
        for name, value in HEADERS.items():
            self.send_header(name, value.replace("text/html", "text/plain") if plain else value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object, **more: object) -> None:
        """Log nothing, because the address contains the token."""
