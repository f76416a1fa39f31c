"""The shortest program that remembers: no key, no server, no model. Run it twice.

pip install remembrancer
python examples/hello.py
"""

from remembrancer import Memory

with Memory("./memory") as memory:
    memory.remember("I drink tea, never coffee.", user="ada")
    print(memory.recall("What does Ada drink?", user="ada"))
