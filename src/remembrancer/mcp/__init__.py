"""MCP: the memory tools, resources and a prompt for assistants that speak this protocol."""
