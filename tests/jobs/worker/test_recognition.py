"""Scanned pages are read by tesseract, inside walls; without it they say that they have no text."""

import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from jobs.parsing.page_import.pdf_fonts import japanese_font
from jobs.parsing.page_import.recognised import read_tsv
from jobs.worker.equipment import OCR_PACKAGES, find_tesseract
from jobs.worker.merging import Additions, merge
from jobs.worker.recognition import Recognition, Tesseract
from jobs.worker.sandbox import ParseJob, Sandbox, Watch
from jobs.worker.verdicts import ParseFailure
from jobs.worker.walls import Limits
from tests.jobs.worker.test_drawing import NoTrouble

LIMITS = Limits(cpu_seconds=120, memory_bytes=1 << 30, output_bytes=64 << 20)
QUIET = Watch(on_progress=lambda *_: None, should_stop=lambda: False)
LINES = ("取込サービスの使い方", "この文書は画像だけでできています。", "Page Import 2026")


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=120)
    secret = tmp_path_factory.mktemp("secret") / "secret"
    secret.write_text("a parser must not read this")
    made.self_test(secret)
    yield made
    made.close()


@pytest.fixture(scope="module")
def tesseract(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Tesseract:
    found = find_tesseract(sandbox, tmp_path_factory.mktemp("find"), wanted=True)
    assert found is not None, OCR_PACKAGES
    return found


@pytest.fixture
def recognition(sandbox: Sandbox, tesseract: Tesseract) -> Recognition:
    return Recognition(
        sandbox=sandbox,
        patience=NoTrouble(),
        tesseract=tesseract,
        page_seconds=60,
        file_seconds=600,
    )


def paper(*, vertical: bool = False) -> Image.Image:
    """A sheet of Japanese as a scanner gives it."""
    font = ImageFont.truetype(japanese_font(), 40)
    image = Image.new("L", (1000, 700), 250)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(LINES[: 2 if vertical else 3]):
        if vertical:
            for place, letter in enumerate(line):
                draw.text((800 - 90 * number, 40 + 46 * place), letter, 10, font=font)
        else:
            draw.text((80, 80 + 90 * number), line, 10, font=font)
    return image


def read(recognition: Recognition, directory: Path, *images: Image.Image, **options) -> list[dict]:
    """Parse images as a TIFF, read what has no text, and return the lines of the result."""
    source, merged = directory / "source", directory / "merged"
    images[0].save(source, "TIFF", save_all=True, append_images=images[1:])
    job = ParseJob(
        type="page_import",
        source=source,
        directory=directory,
        file_name="scan.tif",
        options=options,
    )
    lines = recognition.sandbox.parse(job, on_progress=lambda *_: None, should_stop=lambda: False)
    assert isinstance(lines, Path)
    additions = Additions()
    recognition.read(job, recognition.pages_without_text(lines), additions, QUIET)
    merge(lines, merged, additions)
    return [json.loads(line) for line in merged.read_bytes().splitlines()]


def test_a_scanned_japanese_page_is_read_and_says_so(recognition, tmp_path):
    document, page = read(recognition, tmp_path, paper())

    page = page["page"]
    lines = page["text"].replace(" ", "").split("\n\n")
    assert lines[:2] == ["取込サービスの使い方", "この文書は画像だけでできています。"]
    assert "2026" in page["text"]
    assert page["source"] == "ocr"
    assert 0.7 < page["confidence"] <= 1
    assert page["warnings"] == []
    assert document["document"]["language"] == "ja"


def test_a_page_written_downwards_is_read_downwards(recognition, tmp_path):
    _, page = read(recognition, tmp_path, paper(vertical=True))

    text = page["page"]["text"].replace(" ", "").replace("\n", "")
    assert "画像だけで" in text
    assert text.index("使い方") < text.index("画像")


def test_a_page_with_nothing_on_it_keeps_its_warning(recognition, tmp_path):
    _, first, second = read(recognition, tmp_path, Image.new("L", (400, 300), 255), paper())

    assert "source" not in first["page"]
    beginnings = [warning.partition(":")[0] for warning in first["page"]["warnings"]]
    assert beginnings == ["no_text_layer", "ocr_empty"]
    assert second["page"]["source"] == "ocr"


def test_a_hint_chooses_the_models(tesseract):
    assert tesseract.models(None) == ("jpn", "eng")
    assert tesseract.models("ja-JP") == ("jpn", "eng")
    assert tesseract.models("EN") == ("eng",)
    assert tesseract.models("de") == ("jpn", "eng")
    assert tesseract.models(7) == ("jpn", "eng")
    only = Tesseract(program=Path("/usr/bin/tesseract"), languages=frozenset({"fra", "osd"}))
    assert only.models("ja") == ("fra",)


def test_a_page_that_takes_too_long_is_a_warning(recognition, tmp_path):
    noise = Image.effect_noise((3000, 3000), 120)
    recognition.page_seconds = 1

    _, page = read(recognition, tmp_path, noise)

    assert page["page"]["warnings"][-1].startswith("ocr_timeout")


def test_the_time_of_a_file_ends_the_reading(recognition, tmp_path):
    recognition.file_seconds = 0

    document, first, _ = read(recognition, tmp_path, paper(), paper())

    assert document["document"]["warnings"][0].startswith("ocr_limited: pages from 1 on")
    assert first["page"]["warnings"][0].startswith("no_text_layer")


def test_text_that_a_file_has_is_not_read_again(recognition, tmp_path):
    lines = tmp_path / "lines"
    document = {"document": {"detected_type": "pdf", "page_count": 2}}
    page = {"page": {"number": 1, "text": "no_text_layer: said a book", "warnings": []}}
    lines.write_text("\n".join(json.dumps(line) for line in (document, page)))

    assert recognition.pages_without_text(lines) == []


def run(sandbox: Sandbox, program: str, *arguments: str, directory: Path) -> ParseFailure | str:
    output = directory / "output"
    source = directory / "input"
    source.write_text("what it may read")
    failure = sandbox.run_program(
        Path(program).resolve(),
        arguments,
        source=source,
        output=output,
        seconds=10,
        watch=QUIET,
    )
    return failure or output.read_text()


def test_a_program_reads_its_input_and_nothing_else(sandbox, tmp_path):
    secret = tmp_path / "other"
    secret.write_text("a secret")

    assert run(sandbox, "/bin/cat", directory=tmp_path) == "what it may read"
    refused = run(sandbox, "/bin/cat", str(secret), directory=tmp_path)
    assert isinstance(refused, ParseFailure)
    assert run(sandbox, "/usr/bin/env", directory=tmp_path).split() == [
        "OMP_THREAD_LIMIT=1",
        "LC_ALL=C",
    ]


@pytest.mark.parametrize(
    "deed",
    [
        "exec /bin/cat",
        "(true) && echo forked",
        "exec 3<>/dev/tcp/127.0.0.1/9",
        "echo x > /tmp/torikomi-was-here",
    ],
)
def test_a_program_cannot_start_another_nor_write_nor_leave(sandbox, tmp_path, deed):
    found = run(sandbox, "/bin/bash", "--norc", "-c", deed, directory=tmp_path)

    assert isinstance(found, ParseFailure), found
    assert not Path("/tmp/torikomi-was-here").exists()


def test_a_switch_turns_it_off(sandbox, tmp_path):
    assert find_tesseract(sandbox, tmp_path, wanted=False) is None


def test_a_machine_without_the_program_says_no_text(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_tesseract(sandbox, tmp_path, wanted=True) is None
    bare = Recognition(
        sandbox=sandbox, patience=NoTrouble(), tesseract=None, page_seconds=1, file_seconds=1
    )
    _, page = read(bare, tmp_path, paper())
    assert page["page"]["warnings"][0].startswith("no_text_layer")


def test_what_the_program_says_is_only_text():
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tl\tt\tw\th\tconf\ttext\n"
    rows = [
        "5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t90\t取\x00込",
        "5\t1\t1\t1\t1\t2\t9\t0\t9\t9\t90\t、",
        "5\t1\t1\t1\t2\t1\t0\t9\t18\t9\t80\t*bold*",
        "5\t1\t1\t2\t1\t1\t0\t0\t9\t9\t70\t# head",
        "5\t1\t1\t2\t1\t2\t0\t0\t9\t9\t3\tsmudge",
        "5\t1\t1\t2\t1\t3\t0\t0\t9\t9\tnan\tx",
        "4\t1\t1\t2\t1\t0\t0\t0\t9\t9\t-1\t",
        "rubbish\t",
    ]

    found = read_tsv(head + "\n".join(rows))

    assert found is not None
    assert found.text == "取込、 *bold*\n\n# head"
    assert found.markdown == "取込、 \\*bold\\*\n\n\\# head"
    assert 0.7 < found.confidence < 0.9
    assert read_tsv("") is None
    assert read_tsv(head) is None


def test_image_bytes_of_a_scan_are_drawn_for_the_program_alone(sandbox, tmp_path):
    source = tmp_path / "source"
    buffer = io.BytesIO()
    paper().save(buffer, "PNG")
    source.write_bytes(buffer.getvalue())
    job = ParseJob(type="page_import", source=source, directory=tmp_path, file_name="a.png")

    scan = sandbox.scan(job, number=1, seconds=20, watch=QUIET)

    assert isinstance(scan, Path)
    assert scan.read_bytes().startswith(b"P5\n1000 700\n255\n")


def test_the_readme_installs_what_the_worker_asks_for_and_the_tests_have():
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    wanted = {
        "tesseract-ocr": "eng",
        "tesseract-ocr-jpn": "jpn",
        "tesseract-ocr-jpn-vert": "jpn_vert",
    }

    assert f"\nsudo {OCR_PACKAGES}\n" in readme
    assert OCR_PACKAGES.split()[2:] == list(wanted)
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True)
    assert set(wanted.values()) <= set(listed.stdout.split())
