"""Surrogates from a masked language model: of one patient the same everywhere, never the original, never a part."""

from __future__ import annotations

import json
import os
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
from deid_assets.policies.masked import MaskedSurrogate, checked_model
from deid_assets.policies.masked_frames import WORDED
from deid_assets.policies.masked_model import MaskedModel, Question, load

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

KEY = Key(b"a key for tests, 24 bytes")
NAMES = "Anna Berta Carla Doris Ella Frida Greta Hanna Irma Julia Karin Lotta Maria Nora Olga Paula"
CITIES = "Rome Paris Oslo Bonn Lyon Turin Malmo Ghent Leeds Porto"
TRADES = "nurse baker smith cook tailor driver painter farmer miner clerk"
SENTENCE = "the patient is called she works as a lives in city of from . de"
PARTS = "##son ##berg ##s Mart Zol [LINE]"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK]"
WHOLE = {*NAMES.split(), *CITIES.split(), *TRADES.split(), *SENTENCE.split(), "Mart", "Zol"}


def save(folder: Path, kind: str = "BertForMaskedLM") -> Path:
    """Save a tiny model with seeded weights and a vocabulary of whole words, parts of words and letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = f"{SPECIAL} {NAMES} {CITIES} {TRADES} {SENTENCE} {PARTS}".split()
    pieces = [*words, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    tokens = {f"{name}_token": token for name, token in names.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)
    torch.manual_seed(5)
    config = transformers.BertConfig(
        vocab_size=len(numbers), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def draw(model) -> Callable[..., str]:
    replacer = MaskedSurrogate(str(model), files=checked_model(str(model)))

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
        path.write_text(f'name = "mine"\n[actions]\nNAME = {{ {action} }}\nCITY = {{ {action} }}', "utf-8")
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
def test_a_surrogate_is_made_of_whole_words_of_the_vocabulary(draw, text, label):
    for patient in "abcdefgh":
        drawn = draw(text, label, patient=patient)

        assert len(drawn.split()) == len(text.split())
        assert set(drawn.split()) <= WHOLE
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


def test_the_choice_is_the_keys_and_the_patients(draw):
    patients = {draw("Smith", patient=str(number)) for number in range(40)}
    keys = {draw("Smith", key=Key(bytes([number]) * 16)) for number in range(40)}

    assert 4 <= len(patients) <= 10
    assert 4 <= len(keys) <= 10


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(min_size=1, max_size=24) | st.sampled_from((*NAMES.split(), *CITIES.split(), *TRADES.split())),
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

    drawn = MaskedSurrogate(str(model), files=checked_model(str(model)))(text, Span(0, len(text), Phi.CITY), context)

    assert (drawn, context.fallbacks) == ("[CITY]", {Phi.CITY: 1})


def test_a_word_of_the_note_is_no_surrogate(draw):
    drawn = draw("Smith")

    assert draw("Smith", note=f"Smith was seen with {drawn}.") != drawn
    assert draw("Smith", note=f"Smith {NAMES} {CITIES} Mart Zol.") == "[NAME]"


def test_an_answer_does_not_depend_on_what_else_is_asked(model):
    load.cache_clear()
    questions = [Question("The patient is called", (None,), 0, word) for word in ("Smith", "Bob", "Zoltrixberg")]
    together = load(str(model), "").answer(questions, top_k=5)
    load.cache_clear()

    assert [load(str(model), "").answer([question], top_k=5)[0] for question in questions] == together


def test_the_answers_are_the_words_that_a_plain_computation_ranks_first(model):
    """Cosine of the last hidden states in the sentence, one sequence at a time."""
    found = load(str(model), "").answer([Question("She lives in the city of", (None,), 0, "Bern")], top_k=3)[0]

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    plain = transformers.AutoModelForMaskedLM.from_pretrained(model).double().eval()

    def vector(word):
        ids = tokenizer(f"[CLS] She lives in the city of {word} . [SEP]", add_special_tokens=False)["input_ids"]
        state = plain(torch.tensor([ids]), output_hidden_states=True).hidden_states[-1][0]
        return state.detach()[len(tokenizer("[CLS] She lives in the city of")["input_ids"]) : -2].mean(dim=0)

    words = [word for word in WHOLE if word[0].isupper() and len(word) > 1]
    ranked = sorted(words, key=lambda word: -float(torch.cosine_similarity(vector(word), vector("Bern"), dim=0)))
    assert sorted(ranked[:3]) == list(found)


def test_a_word_that_the_model_goes_on_with_is_no_candidate(model):
    question = Question("The patient is called", (None,), 0, "Smith")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    goes_on = transformers.AutoModelForMaskedLM.from_pretrained(model)
    with torch.no_grad():
        goes_on.cls.predictions.bias[tokenizer.convert_tokens_to_ids("##son")] = 50.0

    assert MaskedModel(goes_on, tokenizer).answer([question], top_k=5) == [()]
    assert len(load(str(model), "").answer([question], top_k=5)[0]) == 5


def test_a_note_is_redacted_and_the_text_around_stays(policy_of):
    note = Note("n", "Seen: Bob Smith of Bern. Smith is well.", patient_id="p", lang="en")
    spans = [Span(6, 15, Phi.NAME), Span(19, 23, Phi.CITY), Span(25, 30, Phi.NAME)]

    text = redact(note, DisjointSpans("n", note.digest, tuple(spans)), policy_of(), key=KEY).text

    name, rest = text.removeprefix("Seen: ").split(" of ")
    assert rest.split(". ")[1] == f"{name.split()[1]} is well."


def test_a_policy_needs_a_key_and_its_digest_follows_the_files(policy_of, tmp_path):
    other = save(tmp_path / "other")
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
    path.write_text(f'name = "a"\n[actions]\n{label} = {{ action = "surrogate_mlm", model = "{model}" }}')

    with pytest.raises(ConfigError, match=f"actions.{label}: surrogate_mlm serves NAME, .* only; choose surrogate"):
        load_policy(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('default = "surrogate_mlm"', "surrogate_mlm needs model, the folder"),
        ('default = { action = "surrogate_mlm", model = "MODEL" }', "only and cannot be the default"),
        ('default = { action = "tag", model = "MODEL" }', "model is an option of surrogate_mlm, not of tag"),
        (
            'default = { action = "surrogate_mlm", model = "MODEL", top_k = 1 }',
            "default.top_k: Input should be greater",
        ),
        ('default = { action = "surrogate_mlm", model = "bert-base" }', "names of a hub are not fetched"),
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
def test_a_folder_without_a_file_is_refused(tmp_path, name):
    (save(tmp_path / "model") / name).unlink()

    with pytest.raises(ConfigError, match=f"lacks {name}"):
        checked_model(str(tmp_path / "model"))


@pytest.mark.parametrize("kind", ["BertModel", "BertForTokenClassification"])
def test_a_model_without_the_head_is_refused(tmp_path, kind):
    folder = save(tmp_path / "model", kind)
    with pytest.raises(ConfigError, match=f"holds a {kind}"):
        checked_model(str(folder))

    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))

    with pytest.raises(PolicyError, match="needs a trained masked-LM head"):
        load(str(folder), checked_model(str(folder)))


def test_broken_weights_are_one_line(tmp_path):
    folder = save(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"no weights")

    with pytest.raises(PolicyError, match="the model does not load"):
        load(str(folder), checked_model(str(folder)))
