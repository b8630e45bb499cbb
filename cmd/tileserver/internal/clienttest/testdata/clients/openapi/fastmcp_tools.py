"""FastMCP makes a tool for assistants of every operation, and two of them answer.

    python3 fastmcp_tools.py http://127.0.0.1:8080
"""
import asyncio
import json
import sys
import urllib.request

import httpx2
from fastmcp import Client, FastMCP


async def main(site):
    with urllib.request.urlopen(site + "/openapi.json", timeout=60) as answer:
        description = json.load(answer)
    operations = sum(len(item) for item in description["paths"].values())
    async with httpx2.AsyncClient(base_url=site) as web:
        async with Client(FastMCP.from_openapi(openapi_spec=description, client=web)) as assistant:
            tools = await assistant.list_tools()
            assert len(tools) == operations > 100, (len(tools), operations)
            nearby = await assistant.call_tool("getPlacesNearby", {"lat": 47.5, "lon": 6.5, "limit": 3})
            assert len(nearby.structured_content["places"]) == 3, nearby
            address = await assistant.call_tool("getAddress", {"addr": "11.0.0.5"})
            assert address.structured_content["country"]["iso_code"] == "DE", address
    print(len(tools), "tools")


asyncio.run(main(sys.argv[1]))
