"""Postgres: the embedded server, sessions that know their actor, tables and migrations."""
