"""The resolver: facts and routes in, a platform and a plan out, each with its reasons."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from flagos_runtime.detection import detect
from flagos_runtime.errors import ConfigError, ResolveError
from flagos_runtime.plan import (
    AliasRoute,
    BackendChoice,
    Condition,
    OpDecision,
    PatchRoute,
    PlatformRoutes,
    ProbeRoute,
)
from flagos_runtime.records import Platform, ProbeResult, ProbeSpec, StepSpec
from flagos_runtime.resolver import resolve, valid_order

SOURCE = "this test"

# -- which platform -------------------------------------------------------------------------------------------------


def vendor(name: str, rank: int = 0) -> Platform:
    """Return a platform with one probe for a card and one for a driver."""
    probes = (
        ProbeSpec(f"{name}_pci", "pci", ("0x10de",), SOURCE, presence=True),
        ProbeSpec(f"{name}_driver", "library", ("libcuda.so.1",), SOURCE, required=True),
    )
    return Platform(name, name.upper(), "cuda", "cuda", probes=probes, rank=rank)


def results(platform: Platform, *, card: str = "available", driver: str = "available") -> tuple[ProbeResult, ...]:
    """Return the results of *platform*'s two probes."""
    reasons = {"available": "found", "unavailable": "is not there", "unknown": "could not look"}
    return (
        ProbeResult(f"{platform.name}_pci", card, f"card {reasons[card]}", value="10de:2684"),
        ProbeResult(f"{platform.name}_driver", driver, f"libcuda.so.1 {reasons[driver]}", value="/lib/libcuda.so.1"),
    )


CUDA = vendor("cuda")
PPU = vendor("ppu", rank=10)
SIM = Platform("sim", "Embedded", "sim", "flagos", detectable=False)


def found_by(*platforms: Platform, explicit: str | None = None, **states: str):
    """Detect among *platforms* where the probes of each answer *states*."""
    answers = {item.name: results(item, **states) for item in platforms if item.probes}
    return detect(platforms, answers, explicit=explicit, chosen_by="environment")


def candidate(detection, name: str):
    """Return the candidate *name* of a detection."""
    return next(item for item in detection.candidates if item.platform == name)


def test_usable_platform_is_detected():
    """A platform whose card and driver are there is chosen, and says so."""
    detection = found_by(SIM, CUDA)

    assert (detection.platform, detection.chosen_by) == (CUDA, "detection")
    assert candidate(detection, "cuda").reason == "card found (pci 10de:2684); no usable platform has a rank above 0"


@pytest.mark.parametrize("state", ["unavailable", "unknown"])
def test_required_probe_that_is_not_available(state):
    """A card without its driver is present but not usable, and the reason names what is missing."""
    detection = found_by(CUDA, driver=state)
    reason = {"unavailable": "libcuda.so.1 is not there", "unknown": "libcuda.so.1 could not look"}[state]

    assert (detection.platform, detection.chosen_by) == (None, "nothing")
    assert candidate(detection, "cuda").presence == "unusable"
    assert candidate(detection, "cuda").reason == f"card found (pci 10de:2684), but {reason}"


@pytest.mark.parametrize("state", ["unavailable", "unknown"])
def test_no_card(state):
    """A driver without a card is no accelerator, and an unknown card is not taken for one."""
    detection = found_by(CUDA, card=state)

    assert detection.platform is None
    assert candidate(detection, "cuda").presence == "absent"
    assert candidate(detection, "cuda").reason.startswith("no card found: card ")


def test_highest_rank_wins():
    """A chip that answers to CUDA as well is told from it by its rank, and the loser keeps its reason."""
    detection = found_by(CUDA, PPU)

    assert detection.platform == PPU
    assert candidate(detection, "cuda").presence == "usable"
    assert candidate(detection, "cuda").reason == "card found (pci 10de:2684); 'ppu' of rank 10 goes before rank 0"


def test_rank_does_not_help_an_unusable_platform():
    """Only usable platforms compete."""
    detection = detect(
        (CUDA, PPU),
        {"cuda": results(CUDA), "ppu": results(PPU, driver="unavailable")},
        explicit=None,
    )

    assert detection.platform == CUDA


def test_first_of_equal_rank_wins():
    """Between equals the order of declaration decides."""
    assert found_by(vendor("b"), vendor("a")).platform.name == "b"


def test_loser_of_equal_rank_says_so():
    """No rank is said to go before itself."""
    reason = candidate(found_by(vendor("b"), vendor("a")), "a").reason

    assert reason.endswith("; 'b' of the same rank 0 is listed first")


def test_declared_platform_comes_after_those_that_were_seen():
    """Software that speaks for a card which no probe can see loses against a card, whatever its rank."""
    declared = replace(vendor("a"), presence_evidence="declared", rank=99)
    alone, beside = found_by(declared), found_by(declared, CUDA)

    assert (alone.platform, candidate(alone, "a").presence) == (declared, "declared")
    assert beside.platform == CUDA


def test_declared_platform_needs_all_that_speaks_for_it():
    """One sign of several is not enough where none of them is a card."""
    declared = replace(vendor("a"), presence_evidence="declared")
    found = found_by(declared, card="unavailable")

    assert (found.platform, candidate(found, "a").presence) == (None, "absent")
    assert candidate(found, "a").reason.startswith("its software does not declare it: ")


def test_embedded_device_is_never_detected():
    """A platform that is not detectable is not chosen, though it would be usable."""
    detection = found_by(SIM)

    assert detection.platform is None
    assert candidate(detection, "sim").presence == "usable"
    assert candidate(detection, "sim").reason == "needs no card; chosen by name only"


def test_explicit_name_wins():
    """A name beats whatever is detected, and every candidate says so."""
    detection = found_by(SIM, CUDA, explicit="sim")

    assert (detection.platform, detection.chosen_by) == (SIM, "environment")
    assert detection.why == (
        "sim: needs no card; named by FLAGOS_PLATFORM",
        "cuda: card found (pci 10de:2684); 'sim' is named by FLAGOS_PLATFORM",
    )


def test_explicit_name_of_an_unusable_platform():
    """A named platform is chosen even where it cannot work; its presence is stated for activation to refuse."""
    detection = found_by(CUDA, explicit="cuda", driver="unavailable")

    assert detection.platform == CUDA
    assert candidate(detection, "cuda").presence == "unusable"
    assert candidate(detection, "cuda").chosen


def test_unknown_explicit_name():
    """A name that is no platform's is an error that lists the known ones and suggests the nearest."""
    with pytest.raises(ConfigError) as caught:
        found_by(SIM, CUDA, explicit="cudaa")

    (found,) = caught.value.diagnostics
    assert (found.code, found.where) == ("FR108", "FLAGOS_PLATFORM")
    assert found.message == "unknown platform 'cudaa', known are sim, cuda"
    assert found.hint == "did you mean 'cuda'?"


def test_overridden_card_says_so():
    """A card that only the environment claims is not shown as hardware."""
    forced = ProbeResult("cuda_pci", "available", "FLAGOS_OVERRIDE_CUDA_PCI is '1'", value="1", overridden=True)
    detection = detect((CUDA,), {"cuda": (forced, results(CUDA)[1])}, explicit=None)

    assert candidate(detection, "cuda").reason.startswith("card found (FLAGOS_OVERRIDE_CUDA_PCI is '1')")


def test_platform_without_results_is_absent():
    """A platform whose probes were not run is not guessed at."""
    detection = detect((CUDA,), {}, explicit=None)

    assert candidate(detection, "cuda").reason == "no card found: probe 'cuda_pci' was not run"


def test_detection_keeps_all_results():
    """Every probe result stays with the detection."""
    assert [item.name for item in found_by(CUDA, PPU).probes] == ["cuda_pci", "cuda_driver", "ppu_pci", "ppu_driver"]


# -- which steps ----------------------------------------------------------------------------------------------------

PROBE = "torch.cuda.is_available"
WHEN = Condition(original_false=(PROBE,), switch_on="FLAGOS_ALIAS_CUDA")
ALIAS = AliasRoute("cuda", "device", "routes.yaml:27:9", when=WHEN)
ROUTES = PlatformRoutes("sim", probes=(ProbeRoute(PROBE, "device.is_available", "routes.yaml:24:9"),), aliases=(ALIAS,))
DEVICE = StepSpec("device:flagos", "device", "PrivateUse1", "device:install")
REDIRECT = StepSpec(f"probe:{PROBE}", "probe", PROBE, "probes:install", after=("device:flagos",))
CLASS = StepSpec("alias:cuda/torch.device", "alias", "torch.device", "aliases:device", alias="cuda")
STATS = StepSpec("alias:cuda/stats", "alias", "torch.cuda.memory_stats", "aliases:stats", alias="cuda")
COMPILE = StepSpec("compile:inductor", "compile", "torch._inductor", "compile:install")
INTERFACE = StepSpec("compile:cuda", "compile", "torch._dynamo.device_interface", "compile:cuda", alias="cuda")
SPECS = (DEVICE, REDIRECT, CLASS, STATS, COMPILE, INTERFACE)


def plan_of(specs=SPECS, routes=ROUTES, *, platform=SIM, cuda: bool | None = False, switch: bool = True):
    """Resolve *specs* with torch's own answer *cuda* and the alias's *switch*."""
    return resolve(platform, routes, specs, answers={PROBE: cuda}, switches={"FLAGOS_ALIAS_CUDA": switch})


def decision(plan, id_: str):
    """Return the decision on the step *id_*."""
    return next(item for item in plan.decisions if item.id == id_)


def ids(plan) -> list[str]:
    """Return the ids of the planned steps in order."""
    return [item.id for item in plan.steps]


def step(id_: str, *after: str, target: str | None = None) -> StepSpec:
    """Return a patch step; its target is its own unless *target* is given."""
    return StepSpec(f"patch:{id_}", "patch", target or f"torch.{id_}", "x:y", tuple(f"patch:{name}" for name in after))


def errors_of(*specs: StepSpec, routes: PlatformRoutes | None = None):
    """Return the diagnostics of a plan that cannot be made."""
    with pytest.raises(ResolveError) as caught:
        plan_of(specs, routes or PlatformRoutes("sim"))
    return caught.value.diagnostics


def test_everything_applies_on_the_embedded_device():
    """Where torch denies CUDA, all steps of the embedded device are planned, in order of declaration."""
    plan = plan_of()

    assert ids(plan) == [spec.id for spec in SPECS]
    assert [item.order for item in plan.decisions] == list(range(len(SPECS)))
    assert {item.state for item in plan.decisions} == {"planned"}


def test_planned_step_names_the_route():
    """A decision points at the line that decided."""
    plan = plan_of()

    assert decision(plan, REDIRECT.id).where == "routes.yaml:24:9"
    assert decision(plan, CLASS.id).where == "routes.yaml:27:9"


def test_genuine_cuda_keeps_the_alias_off():
    """Where torch's own answer is yes, cuda names genuine hardware and no alias step is taken."""
    plan = plan_of(cuda=True)

    assert ids(plan) == [DEVICE.id, REDIRECT.id, COMPILE.id]
    assert decision(plan, CLASS.id).state == "skipped"
    assert decision(plan, CLASS.id).reason == (
        "torch's own torch.cuda.is_available answers True: cuda names genuine hardware"
    )


def test_unknown_answer_keeps_the_alias_off():
    """An unknown answer is not taken for no."""
    found = decision(plan_of(cuda=None), CLASS.id)

    assert found.state == "skipped"
    assert found.reason.startswith("torch's own answer of torch.cuda.is_available is unknown")


def test_missing_answer_is_unknown():
    """A probe that nobody asked counts as unknown."""
    plan = resolve(SIM, ROUTES, SPECS, answers={}, switches={})

    assert decision(plan, CLASS.id).state == "skipped"


def test_switch_turns_the_alias_off():
    """The environment's switch disables every step of the alias and nothing else."""
    plan = plan_of(switch=False)

    assert ids(plan) == [DEVICE.id, REDIRECT.id, COMPILE.id]
    assert decision(plan, INTERFACE.id).state == "disabled"
    assert decision(plan, INTERFACE.id).reason == "FLAGOS_ALIAS_CUDA is off"


def test_route_that_is_not_enabled():
    """An alias that its route does not enable is disabled."""
    routes = replace(ROUTES, aliases=(replace(ALIAS, enabled=False),))

    assert decision(plan_of(routes=routes), CLASS.id).state == "disabled"


def test_alias_without_a_route_is_skipped():
    """A step of an alias that the platform does not have is skipped."""
    found = decision(plan_of(routes=replace(ROUTES, aliases=())), CLASS.id)

    assert (found.state, found.reason) == ("skipped", "platform 'sim' has no alias 'cuda'")


def test_canonical_device_is_no_alias_of_itself():
    """On a platform whose device is cuda the alias cuda does nothing."""
    routes = PlatformRoutes("cuda", aliases=(replace(ALIAS, when=Condition()),))
    found = decision(plan_of((CLASS,), routes, platform=CUDA), CLASS.id)

    assert (found.state, found.reason) == ("skipped", "'cuda' is the canonical device itself")


@pytest.mark.parametrize(
    ("excluded", "state"),
    [
        ("torch.cuda.memory_stats", "disabled"),
        ("torch.cuda", "disabled"),
        ("torch.cuda.memory", "planned"),
        ("torch.cuda.memory_stats_as_nested_dict", "planned"),
    ],
    ids=["same", "folder", "part-of-a-word", "longer"],
)
def test_excluded_target_stays_stock(excluded, state):
    """An exclusion means a target or everything below it, never a part of a name."""
    plan = plan_of(routes=replace(ROUTES, aliases=(replace(ALIAS, exclude=(excluded,)),)))

    assert decision(plan, STATS.id).state == state
    assert decision(plan, CLASS.id).state == "planned"


def test_nothing_is_touched_on_genuine_cuda():
    """A platform with its own device and no routes gets no step, and each decision says why."""
    plan = plan_of(routes=PlatformRoutes("cuda"), platform=CUDA)

    assert plan.steps == ()
    assert [item.reason for item in plan.decisions] == [
        "platform 'cuda' has a device of its own",
        "no route of platform 'cuda' redirects it",
        "platform 'cuda' has no alias 'cuda'",
        "platform 'cuda' has no alias 'cuda'",
        "for the embedded device, not for platform 'cuda'",
        "platform 'cuda' has no alias 'cuda'",
    ]


OPS = StepSpec("op:routes", "op", "aten", "routing:install")


def served(overload: str, backend: str, where: str) -> OpDecision:
    """Return the decision that *backend* serves *overload*."""
    return OpDecision(overload, (BackendChoice(backend, True, "there"),), where, "its route")


def op_verdict(*operators: OpDecision) -> tuple[str, str, str]:
    """Return state, reason and place of the step that installs operator routes."""
    plan = resolve(SIM, PlatformRoutes("sim"), (OPS,), answers={}, switches={}, operators=operators)
    assert plan.operators == operators
    return plan.decisions[0].state, plan.decisions[0].reason, plan.decisions[0].where


def test_op_step_is_planned_where_a_kernel_is_needed():
    """Its reason counts the overloads by backend, and its place is the first one that needs a kernel."""
    operators = (
        served("aten::add.Tensor", "vendor", "routes.yaml:7:9"),
        served("aten::mm", "cpu", "routes.yaml:8:9"),
        served("aten::bmm", "flaggems", "routes.yaml:9:9"),
        served("aten::sort", "flaggems", "routes.yaml:10:9"),
    )

    assert op_verdict(*operators) == ("planned", "3 overload(s): 2 flaggems, 1 cpu", "routes.yaml:8:9")


def test_op_step_is_left_out_where_every_overload_keeps_its_kernel():
    """Routes to the device's own kernel cost nothing."""
    state, reason, _ = op_verdict(served("aten::mm", "vendor", "routes.yaml:7:9"))

    assert (state, reason) == ("skipped", "1 overload(s), and each keeps the kernel that is there")


def test_op_step_needs_an_operator_route():
    """Where nobody says anything about an operator, nothing is installed."""
    assert op_verdict() == ("skipped", "no operator route of platform 'sim' is written", "")


@pytest.mark.parametrize("name", ["flaggems.philox", "patch:flaggems.philox"], ids=["short", "full"])
def test_patch_route_disables_a_patch(name):
    """A patch is enabled unless its route says otherwise."""
    spec = step("flaggems.philox")
    routes = PlatformRoutes("sim", patches=(PatchRoute(name, False, "routes.yaml:40:9"),))

    assert ids(plan_of((spec,), PlatformRoutes("sim"))) == ["patch:flaggems.philox"]
    found = decision(plan_of((spec,), routes), spec.id)
    assert (found.state, found.where, found.order) == ("disabled", "routes.yaml:40:9", None)


# -- order ----------------------------------------------------------------------------------------------------------


def test_after_goes_before_declaration():
    """A step that waits comes later, wherever it was declared."""
    assert ids(plan_of((step("b", "c"), step("a"), step("c")), PlatformRoutes("sim"))) == [
        "patch:a",
        "patch:c",
        "patch:b",
    ]


def test_declaration_breaks_ties():
    """Steps that do not wait for each other keep the order in which they were declared."""
    names = list("hgfedcba")

    assert ids(plan_of(tuple(map(step, names)), PlatformRoutes("sim"))) == [f"patch:{name}" for name in names]


def test_wait_for_a_step_that_is_not_taken():
    """A step does not wait for one that was skipped."""
    waiting = replace(COMPILE, after=(CLASS.id,))

    assert ids(plan_of((CLASS, waiting), replace(ROUTES, probes=()), cuda=True)) == [COMPILE.id]


def test_valid_order_keeps_every_wait():
    """Any random order is a permutation of the plan in which nobody overtakes what it waits for."""
    steps = (step("a"), step("b", "a"), step("c"), step("d", "b", "c"), step("e"))
    plan = plan_of(steps, PlatformRoutes("sim"))
    orders = [[item.id for item in valid_order(plan, Random(seed))] for seed in range(50)]

    assert all(sorted(order) == sorted(ids(plan)) for order in orders)
    assert all(
        order.index(name) < order.index(item.id) for order in orders for item in plan.steps for name in item.after
    )
    assert len({tuple(order) for order in orders}) > 1


def test_valid_order_follows_the_seed():
    """One seed gives one order, so that a failure can be repeated."""
    plan = plan_of(tuple(map(step, "abcdef")), PlatformRoutes("sim"))

    assert valid_order(plan, Random(7)) == valid_order(plan, Random(7))


# -- what contradicts -----------------------------------------------------------------------------------------------


def test_cycle_names_its_members():
    """A circle of waits is reported with everybody in it, in the order in which they wait."""
    (found,) = errors_of(step("a", "c"), step("b", "a"), step("c", "b"), step("free"))
    waits = {"'patch:a'": "'patch:c'", "'patch:b'": "'patch:a'", "'patch:c'": "'patch:b'"}
    members = found.message.split(" waits for ")

    assert found.code == "FR401"
    assert members[0] == members[-1]
    assert all(waits[one] == other for one, other in pairwise(members))


def test_every_cycle_is_reported():
    """Two circles give two errors."""
    found = errors_of(step("a", "b"), step("b", "a"), step("c", "d"), step("d", "c"))

    assert [item.code for item in found] == ["FR401", "FR401"]


def test_wait_for_a_step_that_does_not_exist():
    """A misspelt wait is an error."""
    (found,) = errors_of(step("a", "nobody"))

    assert found.code == "FR402"
    assert found.message == "'patch:a' waits for 'patch:nobody', which does not exist"


def test_two_writers_without_an_order():
    """Two steps that write one target must say who goes first."""
    (found,) = errors_of(step("a", target="torch.x"), step("b", target="torch.x"))

    assert (found.code, found.where) == ("FR403", "torch.x")
    assert found.message == "'patch:a' and 'patch:b' write 'torch.x' in no stated order"


def test_two_writers_with_an_indirect_order():
    """An order through a third step is an order."""
    steps = (step("a", target="torch.x"), step("b", "a"), step("c", "b", target="torch.x"))

    assert ids(plan_of(steps, PlatformRoutes("sim"))) == ["patch:a", "patch:b", "patch:c"]


def test_two_writers_of_which_one_is_not_taken():
    """A step that is not taken writes nothing."""
    other = replace(COMPILE, target=CLASS.target)

    assert ids(plan_of((CLASS, other), replace(ROUTES, probes=()), switch=False)) == [COMPILE.id]


def test_two_steps_of_one_id():
    """An id names one step."""
    found = errors_of(step("a"), step("a", target="torch.other"))

    assert [item.code for item in found] == ["FR115"]


def test_probe_route_that_names_no_step():
    """A probe route that nothing carries out is an error at its own line, not silence."""
    routes = PlatformRoutes("sim", probes=(ProbeRoute("torch.cuda.nope", "device.nope", "routes.yaml:3:9"),))
    (found,) = errors_of(step("a"), routes=routes)

    assert (found.code, found.where) == ("FR111", "routes.yaml:3:9")


def test_patch_route_of_another_platform():
    """A patch route that `extends` brought along from another platform is skipped, and seen."""
    routes = PlatformRoutes("sim", patches=(PatchRoute("acme.x", True, "routes.yaml:5:9"),))
    found = decision(plan_of((step("a"),), routes), "patch:acme.x")

    assert (found.state, found.reason) == ("skipped", "platform 'sim' has no such patch")
    assert found.where == "routes.yaml:5:9"


def test_all_errors_come_at_once():
    """One error does not hide another."""
    found = errors_of(
        step("a", "nobody"),
        step("b", "c"),
        step("c", "b"),
        step("d", target="torch.x"),
        step("e", target="torch.x"),
    )

    assert [item.code for item in found] == ["FR402", "FR401", "FR403"]
