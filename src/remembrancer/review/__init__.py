"""Review: users confirm, edit, reject or share pending memories."""
