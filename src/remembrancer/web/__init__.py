"""Web pages for users and admins: server-rendered, usable without scripts."""
