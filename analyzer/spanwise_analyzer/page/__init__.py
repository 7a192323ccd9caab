"""The web page: the list of conversations, and one conversation explained."""

from spanwise_analyzer.page.routes import router

__all__ = ["router"]
