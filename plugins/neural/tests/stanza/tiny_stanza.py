"""A tiny pipeline that Stanza's own trainers make in seconds.

French, four words of names, and dates.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
from pathlib import Path

NAMES, MONTHS = ("Dupont", "Martin", "Durand", "Petit"), ("mai", "juin", "avril")


def _sentences(count: int) -> list[list[tuple[str, str]]]:
    draw = random.Random(1)
    return [
        [
            ("Vu", "O"),
            ("par", "O"),
            (draw.choice(NAMES), "S-PER"),
            ("le", "O"),
            (str(draw.randint(1, 28)), "B-DATE"),
            (draw.choice(MONTHS), "E-DATE"),
            (".", "O"),
        ]
        for _ in range(count)
    ]


def save(folder: Path) -> Path:
    """Return the folder of a language, laid as ``stanza.download`` lays it.

    Training writes beside it.
    """
    from stanza.models import ner_tagger, tokenizer

    logging.getLogger("stanza").setLevel(logging.ERROR)
    work = folder / "work"
    work.mkdir(parents=True)
    found = _sentences(60)
    (work / "ner.json").write_text(
        json.dumps([[{"text": word, "ner": tag} for word, tag in one] for one in found])
    )
    small = ["--cpu", "--shorthand", "fr_tiny", "--save_dir", str(work), "--hidden_dim", "16"]
    ner_tagger.main(
        [
            *small,
            "--train_file",
            str(work / "ner.json"),
            "--eval_file",
            str(work / "ner.json"),
            "--save_name",
            "ner.pt",
            "--max_steps",
            "60",
            "--eval_interval",
            "30",
            "--char_hidden_dim",
            "8",
            "--char_emb_dim",
            "8",
            "--word_emb_dim",
            "8",
            "--no_pretrain",
            "--no_input_transform",
            "--batch_size",
            "8",
            "--lr",
            "0.3",
        ]
    )
    # A sentence's words with a blank between two, none before its full stop; 1 ends a word, 2 a
    # sentence.
    text = " ".join(" ".join(word for word, _ in one[:-1]) + "." for one in found)
    marks = " ".join(
        " ".join("0" * (len(word) - 1) + "1" for word, _ in one[:-1]) + "2" for one in found
    )
    (work / "text.txt").write_text(text)
    (work / "marks.txt").write_text(marks.replace(" ", "0"))
    (work / "mwt.json").write_text("[]")
    files = {"txt_file": "text.txt", "label_file": "marks.txt", "mwt_json_file": "mwt.json"}
    files |= {f"dev_{name}": file for name, file in list(files.items())[:2]}
    tokenizer.main(
        [
            *small,
            *(word for name, file in files.items() for word in (f"--{name}", str(work / file))),
            "--lang",
            "fr",
            "--save_name",
            "tokenize.pt",
            "--steps",
            "120",
            "--eval_steps",
            "60",
            "--emb_dim",
            "8",
            "--batch_size",
            "16",
            "--lr0",
            "0.03",
            "--dropout",
            "0",
            "--unit_dropout",
            "0",
            "--feat_unit_dropout",
            "0",
            "--sent_drop_prob",
            "0",
            "--last_char_drop_prob",
            "0",
            "--no_use_mwt",
        ]
    )
    for name in ("tokenize", "ner"):
        (folder / "fr" / name).mkdir(parents=True)
        shutil.copyfile(work / f"{name}.pt", folder / "fr" / name / "tiny.pt")
    models = dict.fromkeys(("tokenize", "ner"), "tiny")
    own = {name: {"tiny": {"md5": ""}} for name in models}
    entry = {
        "lang_name": "French",
        **own,
        "default_processors": models,
        "packages": {"default": models},
    }
    (folder / "resources.json").write_text(json.dumps({"fr": entry, "xx": {"lang_name": "None"}}))
    return folder / "fr"
