"""A LangGraph agent with an MCP server."""

import asyncio
import sys
from pathlib import Path

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import spanwise

spanwise.instrument(service_name="support-agent")

ORDERS = {"transport": "stdio", "command": sys.executable, "args": [str(Path(__file__).with_name("orders.py"))]}


async def main() -> None:
    """One conversation of one turn."""
    servers = MultiServerMCPClient({"orders": ORDERS})
    with spanwise.conversation("c-42", user="u-7"), spanwise.turn():
        # One session for the whole turn: without it the adapters open a new one for every call.
        async with servers.session("orders") as session:
            tools = await load_mcp_tools(session)
            model = ChatOpenAI(model="gpt-5-mini").bind_tools(tools)

            @spanwise.step("ask_model")  # a node is a step: each run of it is a span
            async def ask_model(state: MessagesState) -> dict:
                return {"messages": [await model.ainvoke(state["messages"])]}

            graph = StateGraph(MessagesState)
            graph.add_node("model", ask_model)
            graph.add_node("tools", ToolNode(tools))
            graph.add_edge(START, "model")
            graph.add_conditional_edges("model", tools_condition)
            graph.add_edge("tools", "model")
            state = await graph.compile().ainvoke({"messages": [("user", "Where is my order A-17?")]})
        print(state["messages"][-1].content)
        spanwise.outcome(passed=True)


asyncio.run(main())
