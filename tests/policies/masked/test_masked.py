"""Surrogates from a masked language model.

Of one patient the same everywhere, never the original, never a part.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import check_key, load_policy, needs_key
from deid_assets.policies.drawing import fold
from deid_assets.policies.needs import originals_of
from deid_assets.policies.tags import Tag
from deid_surrogates.locales import locale_of
from deid_surrogates.surrogate import Surrogate
from deid_zero_shot import candidates, guard
from deid_zero_shot.candidates import NEAR, MaskedModel, load
from deid_zero_shot.frames import WORDED, BlankQuestion, Sentence
from deid_zero_shot.model_files import check_model
from deid_zero_shot.substitution import MaskedSurrogate

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

KEY = Key(b"a key for tests, 24 bytes")
WORDS = ("Anna", "Olga", "Rome", "Porto", "nurse", "clerk")  # of the model's vocabulary


@pytest.fixture(scope="module")
def model(tmp_path_factory, save_model) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def draw(model) -> Callable[..., str]:
    replacer = MaskedSurrogate(str(model), files=check_model(str(model)))

    def drawn(text, label=Phi.NAME, *, patient="p", key=KEY, lang="en", note=None):
        context = Context(Note("n", note or text, patient_id=patient, lang=lang), key)
        return replacer(text, Span(0, len(text), label), context)

    return drawn


@pytest.fixture
def policy_of(model, tmp_path) -> Callable[..., Policy]:
    def load_from(**options):
        given = {"action": "surrogate_mlm", "model": str(model), **options}
        action = ", ".join(f"{key} = {json.dumps(value)}" for key, value in given.items())
        path = tmp_path / "mine.toml"
        path.write_text(
            f'name = "mine"\n[actions]\nNAME = {{ {action} }}\nCITY = {{ {action} }}', "utf-8"
        )
        return load_policy(path)

    return load_from


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Smith", Phi.NAME),
        ("Zoltrixberg", Phi.NAME),
        ("New York", Phi.CITY),
        ("carpenter", Phi.PROFESSION),
    ],
)
def test_a_surrogate_is_made_of_whole_words_of_the_vocabulary(draw, vocabulary, text, label):
    for patient in "abcdefgh":
        drawn = draw(text, label, patient=patient)

        assert len(drawn.split()) == len(text.split())
        assert set(drawn.split()) <= vocabulary
        assert not set(drawn.split()) & set(text.split())


@pytest.mark.parametrize(
    ("text", "label", "shape"),
    [
        ("SMITH", Phi.NAME, str.isupper),
        ("smith", Phi.NAME, str.islower),
        ("Dr. Smith", Phi.NAME, lambda drawn: drawn.startswith("Dr. ")),
        ("Smith, J.", Phi.NAME, lambda drawn: drawn.endswith(".") and not drawn.endswith("J.")),
        ("Smith's", Phi.NAME, lambda drawn: drawn.endswith("'s")),
        ("Sao de Novo", Phi.CITY, lambda drawn: drawn.split()[1] == "de"),
        ("Sector 12", Phi.LOCATION, lambda drawn: drawn[-2:].isdigit() and drawn[-2:] != "12"),
    ],
)
def test_case_and_form_of_the_original_stay(draw, text, label, shape):
    drawn = draw(text, label)

    assert not drawn.startswith("[")
    assert shape(drawn)


def test_every_mention_of_a_patient_gets_the_same_word(draw):
    first, last = draw("Zita Smith").split()

    assert draw("Smith", note="Another note: Smith") == last
    assert draw("SMITH, ZITA") == f"{last.upper()}, {first.upper()}"
    assert draw("Smith's") == f"{last}'s"


def test_a_finnish_genitive_stays_one(draw):
    found = {
        draw("Virtanen", lang="fi", patient=patient): draw("Virtasen", lang="fi", patient=patient)
        for patient in "abcdefgh"
    }

    assert len(found) > 3
    for base, genitive in found.items():
        assert genitive == locale_of("fi").inflection.join(base, "gen") != base


def test_the_choice_is_the_keys_and_the_patients(draw):
    patients = {draw("Smith", patient=str(number)) for number in range(40)}
    keys = {draw("Smith", key=Key(bytes([number]) * 16)) for number in range(40)}

    assert 4 <= len(patients) <= 10
    assert 4 <= len(keys) <= 10


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(min_size=1, max_size=24) | st.sampled_from(WORDS),
    label=st.sampled_from(WORDED),
    lang=st.sampled_from(("en", "fi", "da", None)),
)
def test_no_value_stays_and_each_is_drawn_the_same_twice(draw, text, label, lang):
    drawn = draw(text, label, lang=lang)

    assert fold(drawn) != fold(text)
    assert drawn == draw(text, label, lang=lang)


@pytest.mark.parametrize("text", ["12345", "--", "\u00b2", "\u0301", "\U0001f600"])
def test_a_value_without_words_gets_the_tag_and_is_counted(model, text):
    context = Context(Note("n", text, patient_id="p"), KEY)

    drawn = MaskedSurrogate(str(model), files=check_model(str(model)))(
        text, Span(0, len(text), Phi.CITY), context
    )

    assert (drawn, context.fallbacks) == ("[CITY]", {Phi.CITY: 1})


def test_a_word_of_the_note_is_no_surrogate(draw, vocabulary):
    drawn = draw("Smith")

    assert draw("Smith", note=f"Smith was seen with {drawn}.") != drawn
    assert draw("Smith", note=f"Smith {' '.join(vocabulary)}.") == "[NAME]"


def test_an_answer_does_not_depend_on_what_else_is_asked(model):
    questions = [
        BlankQuestion(Sentence("The patient is called", (None,), 0), word)
        for word in ("Smith", "Bob", "Zoltrixberg")
    ]
    together = load(str(model), "1").answer(questions, top_k=5)

    assert [
        load(str(model), "2").answer([question], top_k=5)[0] for question in questions
    ] == together


def test_the_answers_are_the_words_that_a_plain_computation_ranks_first(model, vocabulary):
    """Cosine of the last hidden states in the sentence, one sequence at a time."""
    found = load(str(model), "").answer(
        [BlankQuestion(Sentence("She lives in the city of", (None,), 0), "Bern")], top_k=3
    )[0]

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    plain = transformers.AutoModelForMaskedLM.from_pretrained(model).double().eval()

    def vector(word):
        ids = tokenizer(f"[CLS] She lives in the city of {word} . [SEP]", add_special_tokens=False)[
            "input_ids"
        ]
        state = plain(torch.tensor([ids]), output_hidden_states=True).hidden_states[-1][0]
        return state.detach()[
            len(tokenizer("[CLS] She lives in the city of")["input_ids"]) : -2
        ].mean(dim=0)

    words = [word for word in vocabulary if word[0].isupper() and len(word) > 1]
    ranked = sorted(
        words, key=lambda word: -float(torch.cosine_similarity(vector(word), vector("Bern"), dim=0))
    )
    assert sorted(ranked[:3]) == list(found)


def test_a_word_that_the_model_goes_on_with_is_no_candidate(model):
    question = BlankQuestion(Sentence("The patient is called", (None,), 0), "Smith")
    goes_on = guard.load(str(model))
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    with torch.no_grad():
        goes_on.model.cls.predictions.bias[tokenizer.convert_tokens_to_ids("##son")] = 50.0

    assert MaskedModel(goes_on).answer([question], top_k=5) == [()]
    assert len(load(str(model), "").answer([question], top_k=5)[0]) == 5


@pytest.mark.parametrize("is_proper", [False, True])
def test_a_word_that_is_also_written_small_is_no_name(model, is_proper):
    question = BlankQuestion(Sentence("The patient is called", (None,), 0), "Zaventem", is_proper)

    (found,) = load(str(model), "").answer([question], top_k=100)

    assert ("Nurse" in found) is not is_proper
    assert "Anna" in found


def test_a_note_is_redacted_and_the_text_around_stays(policy_of):
    note = Note("n", "Seen: J. Smith of Bern. Smith is well.", patient_id="p", lang="en")
    spans = [Span(6, 14, Phi.NAME), Span(18, 22, Phi.CITY), Span(24, 29, Phi.NAME)]

    text = redact(note, DisjointSpans("n", note.digest, tuple(spans)), policy_of(), key=KEY).text

    name, rest = text.removeprefix("Seen: ").split(" of ")
    assert rest.split(". ")[1] == f"{name.split()[1]} is well."


def test_a_policy_needs_a_key_and_its_digest_follows_the_files(policy_of, tmp_path, save_model):
    other = save_model(tmp_path / "other")
    moved = policy_of(model=str(other))
    with pytest.raises(PolicyError, match="surrogates, which need a key"):
        check_key(moved, None)
    assert needs_key(moved)
    assert moved.digest == policy_of().digest != policy_of(top_k=5).digest
    assert policy_of(model=os.path.relpath(other, tmp_path)).digest == moved.digest

    (other / "config.json").write_text((other / "config.json").read_text() + "\n")

    assert policy_of(model=str(other)).digest != moved.digest


@pytest.mark.parametrize("label", sorted(set(Phi) - set(WORDED)))
def test_categories_that_are_no_words_are_refused(tmp_path, model, label):
    path = tmp_path / "mine.toml"
    path.write_text(
        f'name = "a"\n[actions]\n{label} = {{ action = "surrogate_mlm", model = "{model}" }}'
    )

    with pytest.raises(
        ConfigError, match=f"actions.{label}: surrogate_mlm serves NAME, .* only; choose surrogate"
    ):
        load_policy(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('default = "surrogate_mlm"', "surrogate_mlm needs model, the folder"),
        (
            'default = { action = "surrogate_mlm", model = "MODEL" }',
            "only and cannot be the default",
        ),
        (
            'default = { action = "tag", model = "MODEL" }',
            "default.model: Extra inputs are not permitted",
        ),
        (
            'default = { action = "surrogate_mlm", model = "MODEL", top_k = 1 }',
            "default: top_k: Input should be greater",
        ),
        (
            'default = { action = "surrogate_mlm", model = "bert-base" }',
            "names of a hub are not fetched",
        ),
    ],
)
def test_a_wrong_policy_is_one_line(tmp_path, model, line, message):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "a"\n{line.replace("MODEL", str(model))}')

    with pytest.raises(ConfigError) as error:
        load_policy(path)

    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_without_a_file_is_refused(tmp_path, save_model, name):
    (save_model(tmp_path / "model") / name).unlink()

    with pytest.raises(ConfigError, match=f"lacks {name}"):
        check_model(str(tmp_path / "model"))


@pytest.mark.parametrize("kind", ["BertModel", "BertForTokenClassification"])
def test_a_model_without_the_head_is_refused(tmp_path, save_model, kind):
    folder = save_model(tmp_path / "model", kind)
    with pytest.raises(ConfigError, match=f"holds a {kind}"):
        check_model(str(folder))

    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "architectures": ["BertForMaskedLM"]})
    )

    with pytest.raises(PolicyError, match="so its masked-LM head was not trained"):
        load(str(folder), check_model(str(folder)))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda weights: b"no weights", id="another file"),
        pytest.param(lambda weights: weights[:-1], id="cut off"),
        pytest.param(lambda weights: b"", id="empty"),
        pytest.param(lambda weights: weights + weights, id="too long"),
    ],
)
def test_broken_weights_are_one_line(tmp_path, save_model, damage):
    weights = save_model(tmp_path / "model") / "model.safetensors"
    weights.write_bytes(damage(weights.read_bytes()))

    with pytest.raises(
        ConfigError,
        match=r"model\.safetensors is cut off or no safetensors file; copy the folder again",
    ):
        check_model(str(tmp_path / "model"))


def test_files_of_two_trainings_are_one_line_and_are_read_once(tmp_path, save_model):
    folder = save_model(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 18}))

    with pytest.raises(PolicyError, match="does not load as a masked language model"):
        load(str(folder), "1")

    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(PolicyError, match="does not load as a masked language model"):
        load(str(folder), "1")
    assert load(str(folder), "2")


@pytest.mark.parametrize("default", [Surrogate(), Tag()])
def test_a_full_name_of_the_batch_is_no_surrogate(draw, model, default):
    note = Note("n", "Zita Smith", patient_id="p", lang="en")
    drawn = draw("Zita Smith")
    first, last = drawn.split()

    def redrawn(*others: str) -> str:
        values = [
            (Note(other, other, lang="en"), Span(0, len(other), Phi.NAME)) for other in others
        ]
        batch = [(other, DisjointSpans.of(other, [span])) for other, span in values]
        replacer = MaskedSurrogate(str(model), files=check_model(str(model)))
        policy = Policy("mine", default, {Phi.NAME: replacer})
        spans = DisjointSpans.of(note, [Span(0, len(note.text), Phi.NAME)])
        return redact(note, spans, policy, key=KEY, originals=originals_of(policy, KEY, batch)).text

    assert redrawn(first, last, f"{first} Jones") == drawn
    assert redrawn(f"{last.upper()}, {first.upper()}") == "[NAME]"


def _documented(
    policy_of, text: str, names: list[str], *, lang: str = "en", **options: object
) -> str:
    note = Note("n", text, patient_id="p", lang=lang)
    spans = [
        Span(match.start(), match.end(), Phi.NAME) for match in re.finditer("|".join(names), text)
    ]
    return redact(
        note, DisjointSpans.of(note, spans), policy_of(around="document", **options), key=KEY
    ).text


def test_in_a_document_s_context_one_value_has_one_surrogate(policy_of, vocabulary):
    text = (
        "the patient is called Zoltrix . she lives in Rome . Zoltrix works as a nurse , says"
        " Zoltrix ."
    )

    found = _documented(policy_of, text, ["Zoltrix"])

    words = [
        word for word, old in zip(found.split(), text.split(), strict=True) if old == "Zoltrix"
    ]
    assert len(set(words)) == 1
    assert set(words) <= vocabulary - {"Zoltrix"}
    assert found == _documented(policy_of, text, ["Zoltrix"])


def test_what_is_asked_is_the_note_with_the_word_masked_wherever_it_stands(model):
    replacer = MaskedSurrogate(str(model), files=check_model(str(model)), around="document")
    text = "the patient is called Zol Mart .\nshe says : Zol is a nurse , zol@city . a"
    context = Context(Note("n", text, patient_id="p", lang="en"), KEY)
    values = [
        Span(match.start(), match.end(), Phi.NAME)
        for match in re.finditer("Zol Mart|Zol(?= is)", text)
    ]

    asked = [replacer._words(text[one.start : one.end], one, context)[0].question for one in values]

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    before, after = (tokenizer.convert_ids_to_tokens(ids) for ids in asked[0].blank[:2])
    assert asked[0] == asked[1]
    assert before == ["[CLS]", "the", "patient", "is", "called"]
    shown = ". [LINE] she s ##a ##y ##s [UNK] [MASK] is a nurse [UNK]"
    assert after[:1] == ["[MASK]"]  # the rest of the value
    assert " ".join(after[1:14]) == shown
    assert "Zol" not in after
    assert after[-3:] == [".", "a", "[SEP]"]


def test_a_long_document_is_read_around_the_value_alone(policy_of):
    text = "Rome works . " * 400 + "called Zoltrix ." + " she lives ." * 400

    assert "Zoltrix" not in _documented(policy_of, text, ["Zoltrix"], lang="da")


@pytest.mark.parametrize("near", [4, NEAR])
def test_of_a_long_document_the_whole_window_is_read_once_a_word(policy_of, model, near):
    read: list[tuple[int, int]] = []
    networks = load(str(model), check_model(str(model)))._networks.values()
    hooks = [
        network.model.base_model.register_forward_hook(
            lambda _module, _args, given, _output: read.append(tuple(given["input_ids"].shape)),
            with_kwargs=True,
        )
        for network in networks
    ]
    try:
        _documented(
            policy_of,
            "Rome works . " * 90 + "called Zoltrix ." + " she lives ." * 90,
            ["Zoltrix"],
            lang="sv",
            near=near,
        )
    finally:
        for hook in hooks:
            hook.remove()

    most = 2 * near + 10  # with the ends of a sequence and the word itself
    assert [rows for rows, length in read if length > most] == [1], read
    assert sum(rows for rows, length in read if length <= most) > 1


@pytest.mark.parametrize("around", ["category", "document"])
def test_answers_of_single_precision_are_those_of_double_precision(model, around, monkeypatch):
    questions = _questions(model, around)
    plain = MaskedModel(guard.load(str(model)))
    plain._networks[False] = plain._networks[True]
    expected = plain.answer(questions, top_k=5)

    assert MaskedModel(guard.load(str(model))).answer(questions, top_k=5) == expected
    # so coarse that single precision decides nothing
    monkeypatch.setattr(candidates, "MARGIN", 2.0)
    assert MaskedModel(guard.load(str(model))).answer(questions, top_k=5) == expected


def test_rounding_that_could_rank_otherwise_is_asked_again_in_double_precision(model):
    """A single-precision network that rounds far more, as far as the margin tells."""
    questions = _questions(model, "document")
    expected = MaskedModel(guard.load(str(model))).answer(questions, top_k=5)
    rough = MaskedModel(guard.load(str(model)))
    rounded = rough._networks[False].model.base_model
    rounded.register_forward_hook(
        lambda _module, _args, output: (output[0] + 1e-6 * torch.randn_like(output[0]),)
    )

    assert rough.answer(questions, top_k=5) == expected


def _questions(model, around: str) -> list[BlankQuestion]:
    words = ("Smith", "Bob", "Zoltrixberg", "Bern", "Martin", "Annabel", "Olga", "Kim")
    if around == "category":
        return [
            BlankQuestion(Sentence("The patient is called", (None,), 0), word) for word in words
        ]
    text = " . ".join(f"the patient {word} lives in Rome" for word in words)
    note, network = Note("n", text, lang="en"), MaskedModel(guard.load(str(model)))
    found = []
    for word in words:
        place = text.index(word), text.index(word) + len(word)
        found.append(BlankQuestion(network.blank_in(note, *place, place), word))
    return found
