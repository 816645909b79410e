"""The flagos device: a PrivateUse1 backend over host memory."""

from __future__ import annotations

import json

import pytest

SIM = {"FLAGOS_PLATFORM": "sim"}


def answer(run_python, expect_rc, code, **env):
    lines = expect_rc(run_python(f"\n    import json\n    import flagos_runtime, torch\n{code}", env={**SIM, **env}))
    return json.loads(lines.splitlines()[-1])


def test_training_equals_the_cpu(run_python, expect_rc) -> None:
    """Ten steps of SGD with momentum on a small net give the CPU's parameters."""
    code = """
    def train(device):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.GELU(), torch.nn.Flatten(),
            torch.nn.Linear(108, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
        x, y = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 1, 0])
        net.to(device); x, y = x.to(device), y.to(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        return [p.detach().cpu() for p in net.parameters()]
    pairs = zip(train("cpu"), train("flagos"))
    print(json.dumps([torch.allclose(a, b, atol=1e-5) for a, b in pairs]))
    """

    assert answer(run_python, expect_rc, code) == [True] * 10


@pytest.mark.parametrize("index", [0, 1])
def test_every_board_computes_and_differentiates(run_python, expect_rc, index) -> None:
    """With several boards results and gradients stay on the board of their inputs."""
    code = f"""
    x = torch.ones(2, 3, device="flagos:{index}", requires_grad=True)
    y = (x.exp() * 2).sum(); y.backward()
    print(json.dumps([str(y.device), str(x.grad.device), torch.allclose(x.grad.cpu(), 2 * torch.e * torch.ones(2, 3))]))
    """

    assert answer(run_python, expect_rc, code, FLAGOS_SIM_DEVICES="2") == [f"flagos:{index}"] * 2 + [True]


def test_current_device_rules_where_tensors_are_made(run_python, expect_rc) -> None:
    """Without an index the current board counts, for factories, moves and torch.accelerator alike."""
    code = """
    torch.flagos.set_device(1)
    made = [torch.zeros(1, device="flagos"), torch.zeros(1, device="cuda"), torch.ones(1).to("flagos"),
            torch.ones(1).cuda(), torch.ones(1).to("cuda")]
    with torch.flagos.device(0):
        made.append(torch.ones(1).cuda())
    print(json.dumps([[t.device.index for t in made], torch.accelerator.current_device_index(),
                      torch.accelerator.device_count()]))
    """

    assert answer(run_python, expect_rc, code, FLAGOS_SIM_DEVICES="2") == [[1, 1, 1, 1, 1, 0], 1, 2]


def test_current_device_belongs_to_the_thread(run_python, expect_rc) -> None:
    """Another thread starts on board 0, as on CUDA."""
    code = """
    import threading
    torch.flagos.set_device(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.flagos.current_device()))
    thread.start(); thread.join()
    print(json.dumps([seen, torch.flagos.current_device()]))
    """

    assert answer(run_python, expect_rc, code, FLAGOS_SIM_DEVICES="2") == [[0], 1]


def test_mixed_devices_raise(run_python, expect_rc) -> None:
    """Tensors of two devices in one operator raise CUDA's error; a CPU scalar may meet any device."""
    code = """
    def text(call):
        try: call()
        except RuntimeError as exc: return str(exc)
    x, y = torch.ones(2, device="flagos:0"), torch.ones(2, device="flagos:1")
    print(json.dumps([text(lambda: x + torch.ones(2)), text(lambda: x + y), (x + torch.tensor(1.0)).tolist()]))
    """

    on_host, on_board, scalar = answer(run_python, expect_rc, code, FLAGOS_SIM_DEVICES="2")

    assert "at least two devices, cpu, flagos:0" in on_host
    assert "at least two devices, flagos:0, flagos:1" in on_board
    assert scalar == [2.0, 2.0]


def test_views_share_storage(run_python, expect_rc) -> None:
    """Views of a flagos tensor have its storage, strides and version counter."""
    code = """
    x = torch.arange(12.0, device="flagos").view(3, 4)
    v = x[1:, ::2]; t = x.t(); s = x.as_strided((2, 2), (1, 4))
    same = [y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for y in (v, t, s, x.unfold(1, 2, 1))]
    version = x._version; v.zero_()
    print(json.dumps([same, v.stride(), v.storage_offset(), x._version > version, x.tolist()]))
    """

    same, stride, offset, bumped, values = answer(run_python, expect_rc, code)

    assert same == [True] * 4
    assert (stride, offset, bumped) == ([4, 2], 4, True)
    assert values == [[0, 1, 2, 3], [0, 5, 0, 7], [0, 9, 0, 11]]


def test_outputs_grow_like_on_any_device(run_python, expect_rc) -> None:
    """`out=` resizes an empty output silently and another one with torch's warning; the object stays the same."""
    code = """
    import warnings
    x = torch.ones(2, 3, device="flagos")
    empty, wrong = torch.empty(0, device="flagos"), torch.ones(2, device="flagos")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same = [torch.add(x, 1, out=empty) is empty]
        quiet = len(caught)
        same.append(torch.mul(x, 3, out=wrong) is wrong)
    print(json.dumps([same, quiet, "resized" in str(caught[0].message), empty.tolist(), wrong.tolist()]))
    """

    same, quiet, warned, empty, wrong = answer(run_python, expect_rc, code)

    assert (same, quiet, warned) == ([True, True], 0, True)
    assert empty == [[2.0] * 3] * 2
    assert wrong == [[3.0] * 3] * 2


def test_resize_keeps_the_first_elements(run_python, expect_rc) -> None:
    """A tensor that grows in place keeps what it held."""
    code = """
    x = torch.arange(3.0, device="flagos"); x.resize_(2, 4); y = x.flatten()[:3].tolist()
    x.resize_(2)
    print(json.dumps([y, x.tolist(), list(x.shape)]))
    """

    assert answer(run_python, expect_rc, code) == [[0, 1, 2], [0, 1], [2]]


def test_conjugate_views_are_carried(run_python, expect_rc) -> None:
    """Lazily conjugated and negated tensors compute and copy right."""
    code = """
    z = torch.tensor([1 + 2j, 3 - 1j], device="flagos")
    c = z.conj(); n = c.imag
    print(json.dumps([c.is_conj(), (c * 2).real.tolist(), c.cpu().imag.tolist(), n.cpu().tolist(), (n + 0).tolist()]))
    """

    assert answer(run_python, expect_rc, code) == [True, [2, 6], [-2, 1], [-2, 1], [-2, 1]]


def test_out_of_memory_is_raised(run_python, expect_rc) -> None:
    """A board that is full raises torch.OutOfMemoryError with the usual words, and counts it."""
    code = """
    try:
        torch.empty(2 << 20, dtype=torch.uint8, device="flagos")
    except torch.OutOfMemoryError as exc:
        found = str(exc)
    print(json.dumps([found, torch.cuda.memory_stats()["num_ooms"], torch.cuda.memory_allocated()]))
    """

    text, count, left = answer(run_python, expect_rc, code, FLAGOS_SIM_MEMORY="1M")

    assert "out of memory. Tried to allocate 2.00 MiB" in text
    assert (count, left) == (1, 0)


def test_random_numbers_are_the_boards_own(run_python, expect_rc) -> None:
    """Draws on the device leave the CPU's generator alone, repeat with the seed, and differ between boards' states."""
    code = """
    host = torch.get_rng_state()
    torch.flagos.manual_seed(7)
    a = torch.rand(3, device="flagos"); b = torch.nn.functional.dropout(torch.ones(64, device="flagos"))
    c = torch.ops.aten.native_dropout(torch.ones(64, device="flagos"), 0.5, True)[0]
    torch.flagos.manual_seed(7)
    again = [torch.equal(a, torch.rand(3, device="flagos")),
             torch.equal(b, torch.nn.functional.dropout(torch.ones(64, device="flagos"))),
             torch.equal(c, torch.ops.aten.native_dropout(torch.ones(64, device="flagos"), 0.5, True)[0])]
    print(json.dumps([torch.equal(host, torch.get_rng_state()), again]))
    """

    assert answer(run_python, expect_rc, code) == [True, [True, True, True]]


def test_streams_and_events_have_cudas_shape(run_python, expect_rc) -> None:
    """Streams nest, compare by identity of their handle, and events measure time."""
    code = """
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        inside = torch.cuda.current_stream() == s
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record(); last.record(s)
    torch.ones(2, device="cuda").record_stream(s)
    torch.accelerator.synchronize()
    print(json.dumps([inside, torch.cuda.current_stream() == torch.cuda.default_stream(), s != torch.cuda.Stream(),
                      isinstance(s, torch.Stream), first.elapsed_time(last) >= 0, first.query()]))
    """

    assert answer(run_python, expect_rc, code) == [True] * 6


def test_printing_and_copying(run_python, expect_rc) -> None:
    """A tensor prints with its device, and copies, deep copies and pickles keep it there."""
    code = """
    import copy, pickle
    x = torch.arange(2.0, device="flagos")
    made = [copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()]
    print(json.dumps([repr(x), [str(t.device) for t in made], [t.tolist() for t in made]]))
    """

    text, devices, values = answer(run_python, expect_rc, code)

    assert text == "tensor([0., 1.], device='flagos:0')"
    assert devices == ["flagos:0"] * 4
    assert values == [[0.0, 1.0]] * 4


def test_compiled_model_equals_eager(run_python, expect_rc) -> None:
    """torch.compile with the default backend gives the values and gradients of eager, on the device."""
    code = """
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1)).cuda()
    x = torch.randn(5, 4, device="cuda")
    eager = net(x); eager.sum().backward(); wanted = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    compiled = torch.compile(net, fullgraph=True)(x); compiled.sum().backward()
    got = [p.grad for p in net.parameters()]
    print(json.dumps([str(compiled.device), torch.allclose(eager, compiled, atol=1e-5),
                      [torch.allclose(a, b, atol=1e-5) for a, b in zip(wanted, got)]]))
    """

    assert answer(run_python, expect_rc, code) == ["flagos:0", True, [True] * 6]


def test_compiled_code_mutates_its_input(run_python, expect_rc) -> None:
    """An input that compiled code changes in place is changed, and a returned view shares its memory."""
    code = """
    @torch.compile(fullgraph=True)
    def f(x):
        x.add_(1)
        return x.view(-1), x * 2
    x = torch.zeros(2, 2, device="flagos")
    view, double = f(x)
    print(json.dumps([x.tolist(), view.data_ptr() == x.data_ptr(), double.tolist(), str(double.device)]))
    """

    assert answer(run_python, expect_rc, code) == [[[1, 1], [1, 1]], True, [[2, 2], [2, 2]], "flagos:0"]


def test_compiled_random_numbers_are_the_boards_own(run_python, expect_rc) -> None:
    """Compiled code draws from the board's generator and leaves the CPU's alone."""
    code = """
    f = torch.compile(lambda x: torch.rand_like(x))
    x = torch.zeros(8, device="flagos")
    host = torch.get_rng_state()
    torch.flagos.manual_seed(3); a = f(x); b = f(x); torch.flagos.manual_seed(3)
    print(json.dumps([torch.equal(host, torch.get_rng_state()), torch.equal(a, f(x)), torch.equal(a, b)]))
    """

    assert answer(run_python, expect_rc, code) == [True, True, False]


def test_module_methods(run_python, expect_rc) -> None:
    """Tensors and modules have the methods that torch gives a named PrivateUse1 backend."""
    code = """
    net = torch.nn.Linear(2, 2).flagos()
    x = torch.ones(1, 2).flagos()
    print(json.dumps([net.weight.is_flagos, x.is_flagos, torch.ones(1).is_flagos, str(net(x).device)]))
    """

    assert answer(run_python, expect_rc, code) == [True, True, False, "flagos:0"]


def test_streams_of_other_code_are_taken(run_python, expect_rc) -> None:
    """A stream that other code made is known by its handle."""
    code = """
    s = torch.cuda.get_stream_from_external(7, device=0)
    print(json.dumps([s.cuda_stream, str(s.device), isinstance(s, torch.cuda.ExternalStream)]))
    """

    assert answer(run_python, expect_rc, code) == [7, "flagos:0", True]
