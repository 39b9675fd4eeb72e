"""Images for amd64 and arm64: what is compiled runs where the build runs, and is for the platform of the image."""

from __future__ import annotations

import re

import pytest

from jitterscope.settings import REPOSITORY

PLATFORMS = ("amd64", "arm64")
# As bpf2go names them in files.
_IN_FILES = {"amd64": "x86", "arm64": "arm64"}
DOCKERFILES = ("Dockerfile", "collector/Dockerfile")


def stages(name: str) -> list[tuple[str, str]]:
    """The first line of each stage of a Dockerfile, and the rest."""
    text = (REPOSITORY / name).read_text().replace("\\\n", " ")
    parted = [one.partition("\n") for one in re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]]
    return [(head, rest) for head, _, rest in parted]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_go_is_cross_compiled(name: str) -> None:
    compiling = [(head, rest) for head, rest in stages(name) if "go build" in rest]
    assert compiling
    for head, rest in compiling:
        assert head.startswith("--platform=$BUILDPLATFORM "), head
        for command in re.findall(r"^RUN (.*go build.*)$", rest, re.MULTILINE):
            assert re.search(r"GOARCH=\$(TARGETARCH|arch)\b", command), command
            if "$arch" in command:
                assert f"for arch in {' '.join(PLATFORMS)};" in command
            else:
                assert "\nARG TARGETARCH\n" in rest.partition(command)[0]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_what_runs_is_of_the_images_platform(name: str) -> None:
    assert "--platform" not in stages(name)[-1][0]


def test_every_program_for_the_kernel_is_there_for_both() -> None:
    folder = REPOSITORY / "collector" / "internal" / "bpf"
    text = (folder / "generate.go").read_text()
    generated = re.findall(r"^//go:generate .*-target (\S+) .*?(\w+)\.bpf\.c$", text, re.MULTILINE)
    assert {program for _, program in generated} == {one.name.partition(".")[0] for one in folder.glob("*.bpf.c")}
    for targets, program in generated:
        assert targets.split(",") == list(PLATFORMS)
        for platform in PLATFORMS:
            made = folder / f"{program}_{_IN_FILES[platform]}_bpfel.go"
            assert f"//go:build {'386 || amd64' if platform == 'amd64' else platform}\n" in made.read_text()
            assert made.with_suffix(".o").stat().st_size > 0
