"""Hello with mem0. It wants a key of OpenAI."""

from mem0 import Memory

memory = Memory()
memory.add("I drink tea, never coffee.", user_id="ada")
print(memory.search("What does Ada drink?", filters={"user_id": "ada"}))
