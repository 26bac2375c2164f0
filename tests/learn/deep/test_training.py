"""Private training of PyTorch modules: what an example adds is its own, state is set back, and bad input is free."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks need the extra 'deep'")

from torch.nn import functional  # noqa: E402

from dither.errors import BudgetExceeded, HandleMisuse, InvalidParameter  # noqa: E402
from dither.learn.deep import Lot, PrivateTrainer, PrivateTraining, replace_layers  # noqa: E402
from dither.learn.deep.clipping import ExactSum  # noqa: E402
from dither.learn.deep.examples import examples_of  # noqa: E402
from dither.learn.deep.lone_gradients import LoneGradients  # noqa: E402
from dither.mechanisms.core.release import Budget  # noqa: E402
from dither.privacy import ROW, ApproxDP  # noqa: E402

EASY: dict[str, Any] = {"epsilon": 4, "delta": "1e-3", "examples": 200}


def rows(count: int, width: int = 6) -> tuple[Any, Any]:
    numbers = torch.sin(torch.arange(count * width, dtype=torch.float32) * 12.9898) * 2
    features = numbers.reshape(count, width)
    return features, (features[:, 0] > 0).long()


def network(*more: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), *more, torch.nn.Linear(5, 2))


def entropy_of(module: Any) -> Callable[[Any, Any], Any]:
    return lambda features, labels: functional.cross_entropy(module(features), labels)


def contributions(module: Any, count: int, order: Any = None, step: int = 1) -> list[np.ndarray]:
    """The integers that examples add, computed in this order, listed by example."""
    lone, (features, labels) = LoneGradients(module, entropy_of(module)), rows(count)
    order = range(count) if order is None else order
    found: dict[int, np.ndarray] = {}
    with lone.at_step(step):
        for place in order:
            total = ExactSum(lone.entries)
            total.add(lone((features[place], labels[place]))[None], 1.0)
            found[place] = total.total()
    return [found[place] for place in sorted(found)]


class Remembering(torch.nn.Module):  # type: ignore[misc]
    """A layer that stores what it saw: in a buffer, an attribute, a list and a new name."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.calls, self.past = 0, [0.0]

    def forward(self, values: Any) -> Any:
        with torch.no_grad():
            self.seen += values.sum()
            self.calls += 1
            self.past.append(float(values.sum()))
        self.latest = values
        return values * (1 + self.seen + self.calls + len(self.past) + sum(self.past))


@pytest.mark.parametrize("layers", [(), (torch.nn.Dropout(0.5),), (Remembering(),)], ids=["plain", "dropout", "memory"])
def test_company_changes_no_bit(layers: tuple[Any, ...]) -> None:
    module = network(*layers)
    first = contributions(module, 12)
    again = contributions(module, 12, order=[7, 3, 3, 11, *range(12)][::-1])
    assert all((one == other).all() for one, other in zip(first, again, strict=True))
    alone = contributions(module, 12, order=[5])
    assert (alone[0] == first[5]).all()


def test_a_batch_of_floats_gives_examples_other_bits_in_other_company() -> None:
    """The defect that the engine is without: found within a few shapes, or the test says that it is gone."""
    torch.manual_seed(0)
    differing = 0
    for width, out in ((784, 128), (25, 16), (400, 32)):
        layer, batch = torch.nn.Linear(width, out), torch.randn(64, width)
        with torch.no_grad():
            whole = layer(batch)
            differing += sum(int((layer(batch[:size]) != whole[:size]).any()) for size in (1, 2, 3, 5, 7))
    assert differing


def test_dropout_differs_between_steps_and_equal_examples_drop_alike() -> None:
    module = network(torch.nn.Dropout(0.5))
    first, second = contributions(module, 6, step=1), contributions(module, 6, step=2)
    assert any((one != other).any() for one, other in zip(first, second, strict=True))


def test_nothing_of_the_examples_stays_in_the_module_or_in_random_numbers() -> None:
    module = network(Remembering())
    torch.manual_seed(5)
    expected, threads = torch.rand(3), torch.get_num_threads()
    torch.manual_seed(5)
    contributions(module, 4)
    layer = module[2]
    assert (float(layer.seen), layer.calls, layer.past, hasattr(layer, "latest")) == (0.0, 0, [0.0], False)
    assert (torch.rand(3) == expected).all()
    assert torch.get_num_threads() == threads


def test_equal_bits_in_give_equal_bits_out_at_other_addresses() -> None:
    module = network()
    first = contributions(module, 3)
    junk = [torch.empty(17 * number + 1) for number in range(50)]
    again = contributions(module, 3)
    assert junk
    assert all((one == other).all() for one, other in zip(first, again, strict=True))


def test_gradients_are_those_of_autograd() -> None:
    module, (features, labels) = network(), rows(5)
    lone = LoneGradients(module, entropy_of(module))
    for place in range(5):
        module.zero_grad()
        functional.cross_entropy(module(features[place : place + 1]), labels[place : place + 1]).backward()
        expected = torch.cat([one.grad.reshape(-1) for one in module.parameters()]).numpy()
        with lone.at_step(1):
            assert lone((features[place], labels[place])) == pytest.approx(expected, abs=1e-6)


def test_a_loop_of_ones_own_learns_and_states_its_price() -> None:
    torch.manual_seed(1)
    module, data = network(), rows(200)
    options: dict[str, Any] = {"optimizer": torch.optim.SGD(module.parameters(), lr=1.0), "steps": 6, "lot": 100}
    training = PrivateTraining(module, data, **options, **{**EASY, "epsilon": 60})
    assert training.price <= ApproxDP(60, "1e-3")
    seen = []
    with training as t:
        for lot in t:
            t.step(entropy_of(module))
            seen.append(lot)
    assert seen == [Lot(number, 6) for number in range(1, 7)]
    assert (module(data[0]).argmax(1) == data[1]).float().mean() > 0.8
    assert "noisy-gradients" in str(training.privacy)
    with pytest.raises(HandleMisuse, match="charged on its own"):
        training.__enter__()


def test_a_trainer_charges_its_budget_and_reports_progress() -> None:
    budget, lots = Budget(epsilon=4, delta="1e-3", unit=ROW), []
    trainer = PrivateTrainer(
        network(), torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10, budget=budget, progress=lots.append
    )
    assert trainer.fit(rows(200)).privacy_ is not None
    assert [lot.number for lot in lots] == [1, 2]
    assert trainer.mechanism().steps == 2
    with pytest.raises(BudgetExceeded):
        trainer.fit(rows(200))


def test_a_saved_network_can_be_read_and_names_its_guarantee(tmp_path: Any) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    trainer = PrivateTrainer(network(), torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10)
    with pytest.raises(HandleMisuse, match="after it was trained"):
        trainer.save(tmp_path / "model.safetensors")
    path = trainer.fit(rows(200)).save(tmp_path / "model.safetensors")
    other = network()
    other.load_state_dict(safetensors.load_file(path))
    assert all(torch.equal(one, two) for one, two in zip(other.parameters(), trainer.model.parameters(), strict=True))
    assert b"noisy-gradients" in path.read_bytes()


def state(module: Any) -> list[Any]:
    return [one.detach().clone() for one in (*module.parameters(), *module.buffers())]


def same(one: list[Any], other: list[Any]) -> bool:
    return all(torch.equal(first, second) for first, second in zip(one, other, strict=True))


def test_every_fit_begins_from_the_first_parameters() -> None:
    """The guarantee is of one training: parameters that went through two would have lost twice as much."""
    module, starts = network(Remembering()), []

    def descent(parameters: Any) -> Any:
        starts.append(state(module))
        return torch.optim.SGD(parameters, lr=1)

    trainer = PrivateTrainer(module, torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10, optimizer=descent)
    with torch.no_grad():
        module[0].weight.fill_(0.25)  # public weights, after the trainer was made
    before = state(module)
    for _ in range(3):
        guarantee = trainer.fit(rows(50)).privacy_
        assert not same(before, state(module))
    assert guarantee is not None
    assert len(starts) == 3
    assert all(same(before, start) for start in starts)


def test_a_fit_that_is_stopped_leaves_no_guarantee(tmp_path: Any) -> None:
    module, is_tired = network(), False

    def tire(lot: Lot) -> None:
        if is_tired:
            raise RuntimeError("stopped")

    trainer = PrivateTrainer(module, torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10, progress=tire)
    assert trainer.fit(rows(50)).privacy_ is not None
    is_tired = True
    with pytest.raises(RuntimeError, match="stopped"):
        trainer.fit(rows(50))
    assert trainer.privacy_ is None
    with pytest.raises(HandleMisuse, match="to the last step"):
        trainer.save(tmp_path / "model.safetensors")


def test_a_model_that_was_changed_is_not_trained_under_the_old_trainer() -> None:
    trainer = PrivateTrainer(network(), torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10)
    trainer.fit(rows(50))
    trainer.model = network(torch.nn.Linear(5, 5))
    with pytest.raises(HandleMisuse, match="another trainer"):
        trainer.fit(rows(50))


def refusals() -> dict[str, tuple[Callable[[], Any], str]]:
    loss = torch.nn.CrossEntropyLoss()
    mixing = network(torch.nn.BatchNorm1d(5))
    frozen = network()
    frozen.requires_grad_(False)
    spare = torch.nn.ModuleDict({"used": torch.nn.Linear(6, 2), "unused": torch.nn.Linear(6, 2)})
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*rows(4)))

    def stepped(module: Any, losses_of: Any, **changed: Any) -> Any:
        options = {**EASY, "steps": 2, "lot": 10, **changed}
        data = options.pop("data", rows(20))
        with PrivateTraining(module, data, optimizer=torch.optim.SGD(module.parameters(), lr=1), **options) as t:
            t.step(losses_of)

    return {
        "batch normalisation": (
            lambda: PrivateTrainer(mixing, loss, **EASY),
            r"replace_layers.* got '?2 \(BatchNorm1d\)",
        ),
        "nothing to train": (lambda: PrivateTrainer(frozen, loss, **EASY), "parameters that require gradients"),
        "no module": (lambda: PrivateTrainer(len, loss, **EASY), "torch.nn.Module"),
        "no loss": (lambda: PrivateTrainer(network(), 3, **EASY), "loss"),
        "a loss per class": (
            lambda: PrivateTrainer(network(), lambda found, _: found, **EASY, lot=10).fit(rows(20)),
            "one number for a batch of one",
        ),
        "unused parameters": (
            lambda: stepped(spare, lambda x, y: functional.cross_entropy(spare["used"](x), y)),
            "freeze .* got '?unused.weight, unused.bias",
        ),
        "a loader": (lambda: stepped(network(), None, data=loader), "draws the lots itself, got .DataLoader"),
        "a lot larger than the data": (lambda: stepped(network(), None, lot=300), "at most 200"),
        "a secret number of examples": (lambda: stepped(network(), None, examples=None), "examples.*required"),
        "other lengths": (lambda: stepped(network(), None, data=(torch.zeros(2, 6), torch.zeros(3))), "one length"),
        "a shape that does not fit": (
            lambda: PrivateTrainer(network(), loss, **EASY, lot=10).fit((torch.zeros(4, 9), torch.zeros(4).long())),
            "mat1 and mat2",
        ),
    }


@pytest.mark.parametrize(
    "name",
    [
        "batch normalisation",
        "nothing to train",
        "no module",
        "no loss",
        "a loss per class",
        "unused parameters",
        "a loader",
        "a lot larger than the data",
        "a secret number of examples",
        "other lengths",
        "a shape that does not fit",
    ],
)
def test_bad_input_is_refused(name: str) -> None:
    deed, message = refusals()[name]
    with pytest.raises((InvalidParameter, RuntimeError), match=message):
        deed()


class Two(torch.utils.data.Dataset):  # type: ignore[misc]
    """A data set of the caller's own, whose examples are counted."""

    def __init__(self) -> None:
        self.read = 0

    def __len__(self) -> int:
        return 20

    def __getitem__(self, place: int) -> Any:
        self.read += 1
        return torch.zeros(6), torch.tensor(0)


X, Y = rows(20)
PART = torch.utils.data.Subset(torch.utils.data.TensorDataset(X), range(5))


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        ([X, Y], r"fit\(\(X, y\)\) in place of fit\(\[X, y\]\), got 'list'"),
        (X, r"fit\(\(X, y\)\) in place of fit\(X\), got 'Tensor'"),
        (X.numpy(), "got 'ndarray'"),
        ((X,), "got '1 in a tuple'"),
        ((X, Y, Y), "got '3 in a tuple'"),
        ({"x": X, "y": Y}, "data.'x'"),
        ({1, 2}, "got 'set'"),
        ("ab", "got 'str'"),
        (3, "got 'int'"),
        (([[1.0]], [0]), "dtype for all examples, got 'a list in a tuple'"),
        ((np.array(["a"]), np.zeros(1)), "as integers first, got 'an array of str_'"),
        ((np.array([None]), np.zeros(1)), "as integers first, got 'an array of object_'"),
        ((np.zeros(1, dtype=np.longdouble), np.zeros(1)), "at most 64 bits"),
        ((X, Y.float()[:, None]), "loss must be .* float32 .1, 6., float32 .1, 1."),
        (PART, "loss must be a loss that works on one public example"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data_that_cannot_be_trained_on_is_refused_before_the_charge(data: Any, rule: str) -> None:
    budget = Budget(epsilon=4, delta="1e-3", unit=ROW)

    def loss(found: Any, labels: Any) -> Any:
        assert labels.ndim == 1
        return functional.cross_entropy(found, labels)

    with pytest.raises(InvalidParameter, match=rule):
        PrivateTrainer(network(), loss, **EASY, lot=10, budget=budget).fit(data)
    assert str(budget.spent) == str(Budget(epsilon=4, delta="1e-3", unit=ROW).spent)


def test_a_made_up_example_tries_the_loss_and_no_example_is_read() -> None:
    data = Two()
    bad = PrivateTrainer(
        network(), torch.nn.CrossEntropyLoss(), **EASY, lot=10, example=(torch.zeros(9), torch.tensor(0))
    )
    with pytest.raises(InvalidParameter, match=r"loss must be .*float32 .1, 9., int64 .1."):
        bad.fit(data)
    with pytest.raises(InvalidParameter, match="example must be a tuple"):
        PrivateTrainer(network(), functional.mse_loss, **EASY, lot=10, example={"x": 1}).fit(data)
    assert data.read == 0
    good = PrivateTrainer(
        network(), torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10, example=(np.zeros(6, "f4"), 0)
    )
    assert good.fit(data).privacy_ is not None


def test_a_bare_array_holds_examples_of_one_part() -> None:
    module = torch.nn.Linear(6, 6)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    training = PrivateTraining(module, X, optimizer=optimizer, steps=1, lot=10, **EASY)
    training.try_loss(lambda x: functional.mse_loss(module(x), x))
    with pytest.raises(InvalidParameter, match="TypeError"):
        training.try_loss(lambda x, y: functional.mse_loss(module(x), y))


def test_a_lot_is_not_unpacked_as_examples() -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    training = PrivateTraining(module, (X, Y), optimizer=optimizer, steps=1, lot=10, **EASY)
    with pytest.raises(TypeError, match=r"training\.step") as caught:
        for _, _ in training:
            pass
    assert isinstance(caught.value, HandleMisuse)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (torch.nn.BatchNorm1d(16), (1, 16)),
        (torch.nn.BatchNorm1d(32), (1, 32)),
        (torch.nn.BatchNorm1d(3), (1, 3, 5)),
        (torch.nn.BatchNorm2d(64), (1, 64, 1, 1)),
        (torch.nn.BatchNorm2d(6), (1, 6, 2, 2)),
        (torch.nn.BatchNorm3d(8), (1, 8, 1, 1, 1)),
        (torch.nn.BatchNorm2d(1), (1, 1, 2, 2)),
    ],
    ids=str,
)
def test_a_replaced_layer_normalises_one_example(layer: Any, shape: tuple[int, ...]) -> None:
    values = torch.sin(torch.arange(int(np.prod(shape)), dtype=torch.float32)).reshape(shape)
    found = replace_layers(layer)(values)
    assert found.shape == shape
    assert float(found.mean().detach()) == pytest.approx(0, abs=1e-5)
    # More than signs is left of the numbers.
    assert len(found.unique()) > 2
    with pytest.raises(InvalidParameter, match="call it once on a public input"):
        replace_layers(torch.nn.LazyBatchNorm1d())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_and_frames_are_refused_because_one_gap_would_retype_all_examples(library: str) -> None:
    frames = pytest.importorskip(library, reason="frames need the extra 'frames'")
    for cells in ([1, 2, 3], [1, 2, None]):
        column, frame = frames.Series(cells), frames.DataFrame({"a": cells})
        for part, name in ((column, "Series"), (frame, "DataFrame")):
            with pytest.raises(InvalidParameter, match=f"dtype for all examples, got 'a {name} in a tuple'"):
                examples_of((part, np.zeros(3)))


def test_layers_that_mix_are_replaced() -> None:
    module = replace_layers(network(torch.nn.BatchNorm1d(5)))
    trainer = PrivateTrainer(module, torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10)
    assert trainer.fit(rows(50)).privacy_ is not None


def test_examples_that_fail_are_not_reported_and_add_nothing() -> None:
    module = network()

    class Failing(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 20

        def __getitem__(self, place: int) -> Any:
            raise OSError("an unreadable file")

    before = [one.detach().clone() for one in module.parameters()]
    options: dict[str, Any] = {"optimizer": torch.optim.SGD(module.parameters(), lr=1e-6), "steps": 2, "lot": 10}
    with PrivateTraining(module, Failing(), **options, **EASY) as t:
        for _ in t:
            t.step(entropy_of(module))
    # The noise alone: its deviation is about 1 a step, divided by the lot and multiplied by 1e-6.
    moved = max(float((one - two).detach().abs().max()) for one, two in zip(before, module.parameters(), strict=True))
    assert 0 < moved < 1e-4


def test_an_empty_data_set_trains_on_noise_alone() -> None:
    module = network()
    trainer = PrivateTrainer(module, torch.nn.CrossEntropyLoss(), **EASY, epochs="1/10", lot=10)
    assert trainer.fit((torch.zeros(0, 6), torch.zeros(0).long())).privacy_ is not None


def test_the_rate_follows_from_public_numbers() -> None:
    trainer = PrivateTrainer(network(), torch.nn.CrossEntropyLoss(), **EASY, lot=10)
    assert trainer.mechanism().rate == Fraction(1, 20)
    assert trainer.mechanism().steps == 100
