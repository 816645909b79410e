"""Faults that users of such runtimes have reported in public: each with the value that is right.

The ids name the kind of fault; the addresses are the reports.
"""

from __future__ import annotations

import pytest

SIM = {"FLAGOS_PLATFORM": "sim"}

FACTS = {
    # https://github.com/pytorch/pytorch/issues/115917
    "alias holds in every thread": """
        from concurrent.futures import ThreadPoolExecutor
        def kinds():
            made = [torch.zeros(1, device="cuda"), torch.ones(1).to("cuda"), torch.ones(1).cuda(),
                    torch.nn.Linear(2, 2).to("cuda").weight]
            torch.set_default_device("cuda")
            made.append(torch.ones(1))
            torch.set_default_device(None)
            return {tensor.device.type for tensor in made}
        with ThreadPoolExecutor(2) as pool:
            found = [future.result() for future in [pool.submit(kinds) for _ in range(4)]]
        assert found == [{"flagos"}] * 4, found
        assert torch.ones(1).device.type == "cpu"
    """,
    # https://github.com/pytorch/pytorch/issues/141046
    "code compiled in one thread is used in another": """
        import threading
        from torch._dynamo.testing import CompileCounter
        counter = CompileCounter()
        f = torch.compile(lambda x: x.sin() * 2, backend=counter, fullgraph=True)
        x = torch.ones(3)
        f(x)
        thread = threading.Thread(target=f, args=(x,))
        thread.start(); thread.join()
        assert counter.frame_count == 1
    """,
    # https://github.com/pytorch/pytorch/issues/107856
    "device inside a traced frame": """
        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            assert isinstance(x.device, torch.device)
            k = 1.0 if x.device.type == torch.device("cuda").type else 2.0
            return x + torch.full((3,), k, device=x.device)
        assert f(torch.zeros(3)).tolist() == [2.0] * 3
        assert f(torch.zeros(3, device="cuda")).tolist() == [1.0] * 3
    """,
    # https://github.com/MooreThreads/torchada/pull/76
    "literal cuda in a traced frame": """
        def f(x):
            y = x.cuda() + torch.ones(3, device="cuda") + torch.zeros(3, device=torch.device("cuda", 0))
            return y + x.to("cuda:0") + x.new_ones(3, device="cuda")
        x = torch.arange(3.0)
        for backend in ("eager", "inductor"):
            compiled = torch.compile(f, backend=backend, fullgraph=True)(x)
            torch._dynamo.reset()
            assert compiled.device.type == "flagos", backend
            assert torch.equal(compiled.cpu(), f(x).cpu()), backend
    """,
    # https://github.com/pytorch/pytorch/pull/89129
    "storages made on the device": """
        import copy
        s = torch.UntypedStorage(8, device="cuda")
        assert (s.device.type, s.nbytes()) == ("flagos", 8)
        u = torch.arange(4.0, device="cuda").untyped_storage()
        c = u.clone()
        assert c.device == u.device and c.data_ptr() != u.data_ptr() and c.cpu().tolist() == u.cpu().tolist()
        assert copy.deepcopy(u).device == u.device
        assert torch.ones(2).untyped_storage().to(device="cuda:0").device.type == "flagos"
        assert u.cpu().device.type == "cpu" and torch.ones(2).untyped_storage().cuda().device.type == "flagos"
        assert torch.empty(0, device="cuda").set_(u, 1, (3,), (1,)).tolist() == [1.0, 2.0, 3.0]
        assert u.is_cuda and not torch.ones(2).untyped_storage().is_cuda
    """,
    # https://github.com/flagos-ai/Torch-FL/issues/80
    "parameters keep their identity when a module moves": """
        m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        m[1].weight = m[0].weight
        p, optimizer = m[0].weight, torch.optim.SGD(m.parameters(), lr=1.0)
        m.cuda()
        assert m[0].weight is p and m[1].weight is p and p.device.type == "flagos"
        out = m(torch.ones(1, 2, device="cuda")).sum()
        out.backward()
        before = p.detach().cpu().clone()
        optimizer.step()
        assert not torch.equal(before, m[0].weight.detach().cpu())
        out = m(torch.ones(1, 2, device="cuda")).sum()
        m.cpu()
        assert {q.device.type for q in m.parameters()} == {"cpu"} and m[0].weight is m[1].weight
        del out, optimizer, p
        q = m[0].weight
        m.to("cuda:0").half().float()
        assert m[0].weight is m[1].weight is q and q.device.type == "flagos"
        assert not torch.__future__.get_swap_module_params_on_conversion()
    """,
    # https://github.com/vllm-project/vllm/pull/12107
    "kernels that others register for CUDA": """
        lib = torch.library.Library("flagos_test", "DEF")
        lib.define("a(Tensor x) -> Tensor")
        lib.impl("a", lambda x: x + 1, "CPU"); lib.impl("a", lambda x: x + 2, "CUDA")
        @torch.library.custom_op("flagos_test::b", mutates_args=(), device_types="cpu")
        def b(x: torch.Tensor) -> torch.Tensor: return x + 1
        @b.register_kernel("cuda")
        def _(x): return x + 2
        @torch.library.custom_op("flagos_test::c", mutates_args=(), device_types="cuda")
        def c(x: torch.Tensor) -> torch.Tensor: return x + 2
        one = torch.zeros(1)
        assert torch.ops.flagos_test.a(one).item() == b(one).item() == 1
        for op in (torch.ops.flagos_test.a, b, c):
            assert op(one.cuda()).item() == 2 and op(one.cuda()).device.type == "flagos"
        lib.impl("a", lambda x: x + 3, "PrivateUse1")
        assert torch.ops.flagos_test.a(one.cuda()).item() == 3
    """,
    # https://github.com/MooreThreads/torchada/pull/81
    "compile cache is not bypassed": """
        import os, tempfile
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
        from torch._dynamo.utils import counters
        f = torch.compile(lambda x: x + torch.arange(4, device=x.device) + torch.zeros(4), fullgraph=True)
        assert torch.equal(f(torch.ones(4)), torch.arange(4) + 1.0)
        found = counters["aot_autograd"]
        assert (found["autograd_cache_bypass"], found["autograd_cache_saved"]) == (0, 1), dict(found)
    """,
    # https://github.com/pytorch/pytorch/pull/129978
    "schema inference knows the class": """
        from typing import Optional
        @torch.library.custom_op("flagos_test::mk", mutates_args=())
        def mk(n: int, device: torch.device) -> torch.Tensor: return torch.ones(n, device=device)
        assert "Device device" in str(mk._opoverload._schema)
        def g(x: torch.Tensor, device: Optional[torch.device] = None) -> torch.Tensor: return x
        assert "Device? device" in torch.library.infer_schema(g, mutates_args=())
        assert mk(2, torch.device("cuda")).device.type == "flagos"
    """,
    # https://github.com/pytorch/pytorch/issues/7838
    "devices and their class are pickled": """
        import copy, dataclasses, io, pickle
        assert pickle.loads(pickle.dumps(torch.device)) is torch.device
        d = torch.device("cuda:0")
        assert pickle.loads(pickle.dumps(d)) == copy.deepcopy(d) == d
        b = io.BytesIO()
        torch.save({"d": d, "w": torch.ones(1)}, b); b.seek(0)
        assert torch.load(b, weights_only=True)["d"] == d
    """,
    # https://github.com/pytorch/pytorch/issues/97414
    "torch.fx and typing take the class": """
        import torch.fx, typing
        def f(x): return torch.zeros(2, device=torch.device("cuda")) + x.to(torch.device("cpu")).to(x.device)
        traced = torch.fx.symbolic_trace(f)
        assert torch.equal(traced(torch.ones(2, device="cuda")).cpu(), torch.ones(2))
        assert issubclass(torch.device, torch.device) and typing.Optional[torch.device]
        assert {torch.device: 1}[torch._C.device] == 1
    """,
    # https://github.com/MooreThreads/torchada/pull/7
    "Generator stays a class": """
        import copy, pickle
        g = torch.Generator(device="cuda")
        assert isinstance(g, torch.Generator) and isinstance(torch.Generator(), torch.Generator)
        assert issubclass(type(g), torch.Generator) and g.device == torch.device("cuda:0")
        assert torch.Generator().device.type == "cpu"
        g.manual_seed(3); a = torch.randn(4, generator=g, device="cuda"); g.manual_seed(3)
        assert torch.equal(a.cpu(), torch.randn(4, generator=g, device="cuda").cpu())
        x = torch.empty(4, device="cuda"); g.manual_seed(3); x.normal_(generator=g)
        assert torch.equal(x.cpu(), a.cpu())
        c = torch.Generator().manual_seed(5); d = pickle.loads(pickle.dumps(c))
        assert torch.equal(torch.rand(2, generator=c), torch.rand(2, generator=d))
        h = torch.Generator("cuda"); h.set_state(g.get_state())
        same = torch.rand(2, generator=h, device="cuda")
        assert torch.equal(torch.rand(2, generator=g, device="cuda").cpu(), same.cpu())
        try: torch.rand(2, generator=c, device="cuda")
        except RuntimeError as exc: assert "generator" in str(exc)
        else: raise AssertionError("a CPU generator drew for the device")
    """,
    # https://github.com/Ascend/pytorch/issues/16
    "integer devices": """
        x = torch.ones(2)
        made = (x.to(0), x.cuda(0), torch.zeros(2, device=0), torch.nn.Linear(2, 2).to(0).weight,
                torch.zeros(1, device=torch.cuda.current_device()), torch.nn.Linear(2, 2).cuda(0).weight,
                x.to(torch.device(0)))
        assert {t.device for t in made} == {torch.device("cuda:0")}
        n = torch.cuda.device_count()
        for call in (lambda: x.cuda(n), lambda: x.to(f"cuda:{n}"), lambda: torch.zeros(1, device=f"cuda:{n}"),
                     lambda: torch.cuda.set_device(n), lambda: torch.cuda.get_device_properties(n)):
            try: call()
            except (RuntimeError, AssertionError, ValueError): continue
            raise AssertionError("a device that is not there was accepted")
    """,
    # https://github.com/MooreThreads/torchada/pull/14
    "every spelling of a device keeps its index": """
        D = torch.device
        forms = {D("cuda:1"), D("cuda", 1), D("cuda", index=1), D(type="cuda", index=1), D(D("cuda:1")),
                 D(device="cuda:1")}
        assert [(d.type, d.index) for d in forms] == [("flagos", 1)]
        assert D("cuda").index is None and D(type="cuda").index is None and D("cuda") != D("cuda:0")
        assert D("cpu", 0).index == 0 and D("meta").type == "meta" and str(D("cuda:1")) == "flagos:1"
        for bad in ("cudax", "cuda:", "cuda:-1", "cuda:0:1"):
            try: D(bad)
            except RuntimeError: continue
            raise AssertionError(bad)
    """,
    # https://github.com/torch-spyre/torch-spyre/pull/2133
    "device as a context": """
        with torch.device("cuda"):
            made = [torch.empty(2), torch.arange(3), torch.randn(2), torch.tensor([1.0]), torch.nn.Linear(2, 2).weight,
                    torch.zeros(2).cuda(), torch.eye(2), torch.full((1,), 2.0), torch.as_tensor([1])]
            assert {t.device.type for t in made} == {"flagos"}, [t.device.type for t in made]
            with torch.device("cpu"):
                assert torch.zeros(1).device.type == "cpu" and torch.zeros(1).cuda().device.type == "flagos"
        with torch.device("meta"):
            assert torch.zeros(1, device="cuda").device.type == "flagos" and torch.zeros(1).is_meta
        assert torch.zeros(1).device.type == "cpu"
    """,
    # https://github.com/vllm-project/vllm-ascend/issues/898
    "every factory that takes a device": """
        x, L = torch.ones(2), torch.nn.Linear
        made = [x.new_zeros(2, device="cuda"), x.new_tensor([1.0], device="cuda"), x.new_full((2,), 1.0, device="cuda"),
                torch.fft.fftfreq(4, device="cuda"), torch.hann_window(4, device="cuda"),
                torch.asarray([1.0], device="cuda"), torch.signal.windows.cosine(4, device="cuda"),
                torch.tril_indices(3, 3, device="cuda"),
                torch.empty_permuted((2, 3), (0, 1), device="cuda"), torch.scalar_tensor(1.0, device="cuda"),
                torch.empty_strided((2,), (1,), device="cuda"), torch.logspace(0, 1, 3, device="cuda"),
                L(2, 2, device="cuda").weight, L(2, 2).to_empty(device="cuda").weight,
                L(2, 2, device=torch.device("cuda")).bias, x.to("cuda", torch.float64),
                x.to(torch.float64).to(device="cuda", dtype=torch.float32), x.to(x.cuda()),
                torch.nn.Parameter(x).cuda(),
                torch.nn.utils.rnn.pack_sequence([x]).to("cuda").data, torch.normal(0.0, 1.0, (2,), device="cuda"),
                torch.full_like(x, 3.0, device="cuda"), torch.randint(3, (2,), device="cuda"),
                torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), check_invariants=True).to_dense().cuda(),
                x.type("torch.cuda.DoubleTensor"), torch.cuda.FloatTensor([1, 2]),
                torch.randperm(4, device="cuda"), torch.eye(2, device="cuda")]
        bad = [i for i, t in enumerate(made) if t.device.type != "flagos"]
        assert not bad, bad
        assert isinstance(made[-3], torch.cuda.FloatTensor) and not isinstance(x, torch.cuda.FloatTensor)
    """,
    # https://github.com/kornia/kornia/pull/4624
    "custom_fwd compares the device type": """
        class F(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
            def forward(ctx, x):
                F.seen = torch.is_autocast_enabled("cuda")
                return x * 1
            @staticmethod
            @torch.amp.custom_bwd(device_type="cuda")
            def backward(ctx, g): return g
        h = torch.ones(2, device="cuda", dtype=torch.float16, requires_grad=True)
        with torch.autocast("cuda", dtype=torch.float16):
            assert torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() == torch.float16
            y = F.apply(h)
        assert y.dtype == torch.float32 and F.seen is False and not torch.is_autocast_enabled("cuda")
        y.sum().backward()
        assert h.grad.dtype == torch.float16
    """,
    # https://github.com/flagos-ai/Torch-FL/issues/318
    "every spelling of a device as a query's argument": """
        x = torch.ones(1, device="cuda")
        forms = [torch.cuda.device(0), 0, "cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0), x.device,
                 None]
        for query in (torch.cuda.get_device_capability, torch.cuda.get_device_name, torch.cuda.memory_allocated,
                      torch.cuda.get_device_properties):
            assert len({str(query(form)) for form in forms}) == 1, query
        for bad in ("cpu", torch.device("cpu")):
            try: torch.cuda.get_device_name(bad)
            except (ValueError, RuntimeError): continue
            raise AssertionError("a CPU device was accepted")
    """,
    # https://github.com/MooreThreads/torchada/pull/108
    "current device as a context, eager and traced": """
        x = torch.ones(4, device="cuda")
        @torch.compile(backend="eager")
        def f(t):
            with torch.cuda.device(t.device.index): return t + 1
        assert f(x).tolist() == [2.0] * 4
        before = torch.cuda.current_device()
        for form in (0, "cuda:0", x.device, None, -1):
            with torch.cuda.device(form): assert torch.ones(1).cuda().device.index == before
        with torch.cuda.device_of(x), torch.cuda.device_of(torch.ones(1)): pass
        assert torch.cuda.current_device() == before and torch.cuda._get_device_index("cuda:0") == 0
    """,
    # https://github.com/flagos-ai/Torch-FL/blob/main/torch_fl/accelerator/cuda/_cuda_compat.py
    "default generators are a tuple": """
        import itertools
        torch.cuda.init()
        n, g = torch.cuda.device_count(), torch.cuda.default_generators
        assert len(g) == n and len(list(itertools.islice(g, n + 5))) == n and g[-1] is g[n - 1]
        assert all(isinstance(x, torch.Generator) and x.device.type == "flagos" for x in g)
        torch.cuda.manual_seed(5)
        assert g[0].initial_seed() == 5
    """,
    # https://github.com/pytorch/pytorch/issues/49952
    "memory statistics are true": """
        import gc
        base = torch.cuda.memory_allocated(); torch.cuda.reset_peak_memory_stats()
        x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda"); v = x[10:]
        assert torch.cuda.memory_allocated() - base == 1 << 20
        assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
        assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
        del x, v; gc.collect(); torch.cuda.empty_cache()
        assert torch.cuda.memory_allocated() == base and torch.cuda.max_memory_allocated() - base >= 1 << 20
        free, total = torch.cuda.mem_get_info(0)
        assert 0 < free <= total == torch.cuda.get_device_properties(0).total_memory
        assert isinstance(torch.cuda.memory_summary(), str) and torch.accelerator.memory_allocated() == base
    """,
    # https://github.com/flagos-ai/Torch-FL/issues/149
    "is_cuda is true on the device, eager and traced": """
        x, c = torch.ones(2, device="cuda"), torch.ones(2)
        assert x.device == torch.device("cuda:0") and x.device in {torch.device("cuda", 0)}
        assert x.is_cuda and not c.is_cuda and torch.nn.Parameter(x).is_cuda
        assert not torch.ones(1, device="meta").is_cuda
        f = torch.compile(lambda t: t + (1 if t.is_cuda else 2), backend="eager", fullgraph=True)
        assert f(x).tolist() == [2.0, 2.0] and f(c).tolist() == [3.0, 3.0]
        assert not x.is_cpu and x.get_device() == 0 and x.untyped_storage().device == x.device
    """,
    # https://github.com/MooreThreads/torchada/pull/4
    "submodules of torch.cuda stay modules": """
        import importlib, sys, types
        for n in ("amp", "amp.grad_scaler", "amp.autocast_mode", "memory", "random", "streams", "graphs", "nvtx",
                  "nccl", "profiler", "comm"):
            m = importlib.import_module("torch.cuda." + n)
            assert isinstance(m, types.ModuleType) and sys.modules["torch.cuda." + n] is m, n
        from torch.cuda import _get_device_index, _lazy_call, amp, CUDAGraph, FloatTensor, OutOfMemoryError, Stream
        from torch.cuda.amp import autocast, custom_bwd, custom_fwd, GradScaler
        assert importlib.import_module("torch.cuda") is torch.cuda is sys.modules["torch.cuda"]
        assert torch.cuda.random.manual_seed_all is torch.cuda.manual_seed_all
        assert torch.cuda.memory.memory_allocated is torch.cuda.memory_allocated
        assert torch.cuda.streams.Stream is torch.cuda.Stream and issubclass(OutOfMemoryError, RuntimeError)
        with torch.cuda.nvtx.range("a"): pass
        assert not hasattr(torch.cuda, "no_such_name_at_all")
    """,
    # https://github.com/MooreThreads/torchada/pull/62
    "graph capture refuses and says so": """
        x = torch.ones(3, device="cuda")
        try:
            g = torch.cuda.CUDAGraph()
        except NotImplementedError as exc:
            assert "graph" in str(exc) and "torch.cuda.CUDAGraph" in str(exc) and "sim" in str(exc)
        else:
            raise AssertionError("captured")
        assert isinstance(torch.cuda.CUDAGraph, type) and not torch.cuda.is_current_stream_capturing()
    """,
    # https://github.com/flagos-ai/Torch-FL/issues/384
    "queries have no side effect, DataParallel runs": """
        before = torch.cuda.current_device()
        for i in range(torch.cuda.device_count()):
            p = torch.cuda.get_device_properties(i)
            assert p.total_memory > 0 and isinstance(p.name, str) and "NVIDIA" not in p.name and p.major < 8
            torch.cuda.get_device_name(i), torch.cuda.mem_get_info(i), torch.cuda.get_device_capability(i)
        assert torch.cuda.current_device() == before and torch.ones(1).to(0).device.index == 0
        dp = torch.nn.DataParallel(torch.nn.Linear(2, 3).cuda())
        assert dp(torch.ones(4, 2)).device.type == "flagos" and len(dp.device_ids) == torch.cuda.device_count()
        assert torch.version.cuda is None
    """,
    # https://github.com/pytorch/pytorch/pull/194478
    "checkpointing replays the dropout mask": """
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        for reentrant in (True, False):
            x = torch.ones(512, device="cuda", requires_grad=True)
            y = checkpoint(lambda t: torch.nn.functional.dropout(t * 1.0, 0.5), x, use_reentrant=reentrant)
            torch.rand(3, device="cuda"); torch.rand(3)
            y.sum().backward()
            assert torch.equal((x.grad != 0).cpu(), (y.detach() != 0).cpu())
    """,
    # https://github.com/flagos-ai/Torch-FL/pull/276
    "results have the reference's dtype and shape": """
        i, f = torch.arange(1, 5), torch.linspace(-2, 2, 8).reshape(2, 4)
        ops = [lambda t: t.log(), lambda t: t.erf(), lambda t: torch.atan2(t, t), lambda t: t.sum(),
               lambda t: t.topk(2, dim=0).values, lambda t: torch.sum(t, dim=0, keepdim=True), lambda t: t[None],
               lambda t: torch.remainder(2 * t, t), lambda t: t.double() + 1, lambda t: t.unique(),
               lambda t: torch.where(t > 1, t, 0)]
        for src in (i, f):
            for k, op in enumerate(ops):
                a, b = op(src), op(src.cuda())
                assert (a.dtype, a.shape) == (b.dtype, b.shape) and b.device.type == "flagos", k
                assert torch.allclose(a, b.cpu(), equal_nan=True), k
        o = torch.empty(0, device="cuda")
        assert torch.add(f.cuda(), 1, out=o) is o and o.shape == f.shape
        w = f.cuda(); w[0].mul_(2)
        assert torch.equal(w[0].cpu(), f[0] * 2)
    """,
    # https://github.com/pytorch/pytorch/issues/1856
    "forked workers return host data": """
        from torch.utils.data import DataLoader, Dataset
        class D(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i):
                torch.manual_seed(i)
                return torch.rand(1)
        torch.ones(1, device="cuda") + 1
        loader = DataLoader(D(), batch_size=4, num_workers=2, multiprocessing_context="fork", timeout=60)
        got = torch.cat(list(loader))
        for i in range(8):
            torch.manual_seed(i)
            assert torch.equal(got[i], torch.rand(1))
    """,
    # https://github.com/intel/intel-extension-for-pytorch/issues/580
    "fork_rng keeps the device's generator": """
        def draw(): return torch.rand(8, device="cuda").cpu()
        torch.manual_seed(1); on_device, on_host = draw(), torch.rand(3)
        for kw in ({}, {"device_type": "cuda"}, {"device_type": "flagos"}, {"devices": [0]}, {"devices": ["cuda:0"]}):
            torch.manual_seed(1)
            with torch.random.fork_rng(**kw):
                torch.manual_seed(99); draw(); torch.rand(3)
            assert torch.equal(draw(), on_device) and torch.equal(torch.rand(3), on_host), kw
    """,
    # https://github.com/pytorch/tutorials/pull/485
    "device memory is not host memory": """
        import numpy as np
        a = np.ones(3, dtype=np.float32); t = torch.from_numpy(a); c = t.cuda()
        c.add_(1)
        assert a.tolist() == t.tolist() == [1.0] * 3
        h = c.cpu(); h.zero_()
        assert c.tolist() == [2.0] * 3
        assert c.cuda() is c and c.to("cuda") is c and c.to("cuda:0") is c and c.to("cuda", copy=True) is not c
        for f in (lambda: c.numpy(), lambda: np.asarray(c), lambda: np.add(c, 1)):
            try: f()
            except TypeError: continue
            raise AssertionError("a device tensor became an array silently")
        assert torch.as_tensor(a, device="cuda").data_ptr() != t.data_ptr()
        assert c.sum().item() == 6.0 and float(c[0]) == 2.0 and c[torch.tensor([0, 2])].tolist() == [2.0, 2.0]
    """,
    # https://github.com/pytorch/pytorch/issues/47405
    "strings are parsed and not rewritten": """
        import os, tempfile
        path = os.path.join(tempfile.mkdtemp(), "cuda_ckpt.pt")
        torch.save(torch.ones(1), path)
        assert torch.load(path, map_location="cuda").device == torch.device("cuda:0")
        assert os.path.exists(path)
    """,
}


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_public_report(run_python, expect_rc, fact) -> None:
    """The reported fault does not occur on the aliased device."""
    expect_rc(run_python(f"import flagos_runtime, torch{_aligned(fact)}", env=SIM))


def _aligned(code: str) -> str:
    lines = code.splitlines()
    return "\n".join(line.removeprefix("        ") for line in lines)


SCRIPT = """
import torch
def mk(x: torch.Tensor, d: torch.device) -> torch.Tensor:
    return torch.zeros(x.size(0), device=d) + x.to(torch.device("cpu")).sum().to(d)
"""


def test_torchscript_takes_the_class(run_python, expect_rc, tmp_path) -> None:
    """TorchScript compiles annotations and calls of the class to a real ScriptFunction.

    https://github.com/MooreThreads/torchada/pull/102
    """
    (tmp_path / "scripted.py").write_text(f"import flagos_runtime\n{SCRIPT}")
    code = f"""
        import sys; sys.path.insert(0, {str(tmp_path)!r})
        import scripted, torch
        s = torch.jit.script(scripted.mk)
        assert isinstance(s, torch.jit.ScriptFunction)
        assert s(torch.ones(3), torch.device("cpu")).tolist() == [3.0] * 3
        out = s(torch.ones(3), torch.device("cuda"))
        assert out.device.type == "flagos" and out.tolist() == [3.0] * 3
        assert isinstance(torch.jit.script(torch.nn.Linear(2, 2)), torch.jit.ScriptModule)
    """

    expect_rc(run_python(code, env={**SIM, "PYTHONWARNINGS": "ignore::DeprecationWarning"}))


def test_checkpoint_written_on_cuda_loads(run_python, expect_rc, tmp_path) -> None:
    """A storage tagged `cuda:0` loads onto the canonical device, and every spelling of map_location counts.

    https://github.com/pytorch/pytorch/issues/165455
    """
    file = str(tmp_path / "a.pt")
    writer = f"""
        import torch
        from torch.serialization import register_package
        register_package(0, lambda s: "cuda:0", lambda s, l: None)
        torch.save({{"w": torch.arange(3.0)}}, {file!r})
    """
    reader = f"""
        import flagos_runtime, torch
        def load(**kw): return torch.load({file!r}, weights_only=True, **kw)["w"]
        for kw in ({{}}, {{"map_location": "cuda"}}, {{"map_location": "cuda:0"}},
                   {{"map_location": torch.device("cuda")}}, {{"mmap": True}}):
            assert load(**kw).device == torch.device("cuda:0") and load(**kw).tolist() == [0.0, 1.0, 2.0], kw
        keep = lambda s, loc: s if loc == "cuda:0" else None
        for m in ("cpu", torch.device("cpu"), {{"cuda:0": "cpu"}}, keep):
            assert load(map_location=m).device.type == "cpu"
        assert load(map_location=lambda s, loc: s.cuda(0)).device.type == "flagos"
    """

    expect_rc(run_python(writer, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))
    expect_rc(run_python(reader, env=SIM))
