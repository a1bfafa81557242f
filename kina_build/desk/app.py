"""The pages of the workbench, as an application that any ASGI server runs."""

from __future__ import annotations

from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kina_build.desk.cases import Deciding
from kina_build.desk.guard import Guard
from kina_build.desk.pages import Pages
from kina_build.desk.state import Desk

STATIC = {"desk.js": "text/javascript", "desk.css": "text/css"}


def make_app(desk: Desk, token: str, port: int) -> Guard:
    """Make the application of a workbench, behind its door."""
    pages, deciding = Pages(desk), Deciding(desk)
    routes = [
        Route("/", pages.home),
        Route("/items", pages.items),
        Route("/items/{item_id:path}", pages.item),
        Route("/life/{item_id:path}", pages.life),
        Route("/pages/{name}", pages.report),
        Route("/decide", pages.home),
        Route("/decide/{queue}", deciding.queue),
        Route("/decide/{queue}/{case_id}", deciding.case),
        Route("/decide/{queue}/{case_id}", deciding.decide, methods=["POST"]),
        Route("/columns/{name:path}", deciding.columns),
        Route("/columns/{name:path}", deciding.map, methods=["POST"]),
        Route("/undo", deciding.undo, methods=["POST"]),
        Route("/who", deciding.name, methods=["POST"]),
        Route("/compare", pages.compare),
        Route("/static/{name}", send_static),
    ]
    return Guard(Starlette(routes=routes), token, port, desk.read_only)


def send_static(request: Request) -> Response:
    """Send the script or the style of the desk."""
    name = request.path_params["name"]
    if name not in STATIC:
        return PlainTextResponse("There is no such file.", 404)
    return Response((files("kina_build.desk") / "static" / name).read_bytes(), media_type=STATIC[name])
