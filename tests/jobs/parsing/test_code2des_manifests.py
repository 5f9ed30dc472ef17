"""Declared dependencies of every ecosystem, with versions, beside what is imported."""

import pytest

from tests.jobs.parsing.code_samples import archive, design


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "package.json",
            '{"name": "shop", "version": "2.0", "dependencies": {"express": "^4"}}',
            ("npm", "express", "^4"),
        ),
        ("composer.json", '{"require": {"php": "8", "a/b": "^1"}}', ("packagist", "a/b", "^1")),
        ("Cargo.toml", '[dependencies]\nserde = { version = "1" }\n', ("crates", "serde", "1")),
        ("go.mod", "module x\nrequire a.com/b v1.2.0\n", ("go-module", "a.com/b", "v1.2.0")),
        (
            "pom.xml",
            "<dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId>"
            "<version>1</version></dependency></dependencies>",
            ("maven", "g:a", "1"),
        ),
        ("build.gradle", "implementation 'g:a:1.0'\n", ("maven", "g:a", "1.0")),
        ("Gemfile", "gem 'rails', '~> 7'\n", ("rubygems", "rails", "~> 7")),
        ("x.csproj", '<PackageReference Include="P" Version="3" />', ("nuget", "P", "3")),
        ("requirements.txt", "flask>=3 # web\n", ("pypi", "flask", ">=3")),
    ],
)
def test_declared_packages_are_listed_with_their_version(described, name, text, expected):
    model = design(described(archive({name: text, "a.py": "x = 1\n"}), "shop.zip"))
    found = [(p["ecosystem"], p["name"], p["version"]) for p in model["external"]]
    assert found == [expected]
    assert model["external"][0]["source_file"] == name


def test_an_imported_package_takes_its_version_from_the_manifest(described):
    files = {
        "package.json": '{"name": "shop", "version": "2.0", "dependencies": {"express": "^4"}}',
        "a.js": "const e = require('express')\n",
    }
    model = design(described(archive(files), "x.zip"))
    assert (model["project"]["name"], model["project"]["version"]) == ("shop", "2.0")
    (package,) = model["external"]
    assert (package["version"], package["used_by"]) == ("^4", ["module:a.js"])


@pytest.mark.parametrize("name", ["package.json", "composer.json", "Cargo.toml", "pyproject.toml"])
def test_a_broken_manifest_is_a_warning(described, name):
    model = design(described(archive({name: "{[", "a.py": "x = 1\n"}), "x.zip"))
    assert [(w["code"], w["path"]) for w in model["warnings"]] == [("manifest_broken", name)]
