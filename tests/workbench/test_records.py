import json
import shlex

import pytest
from tests.workbench.hostile import NAMES
from tests.workbench.shown_code import compare_arguments

from separatrix.app.read_data import parse_column
from separatrix.cli.experiments import compare as compare_command
from separatrix.workbench.records import (
    BestModel,
    FileRequest,
    JobRecord,
    Upload,
    command_of,
    python_of,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "-", "--help", "7", "-1", "auto", "iris"])
def test_commands_and_python_keep_names_of_files_and_columns(name):
    asked = FileRequest(kind="file", upload="0" * 16, target=name, models=["lda", "svm"])
    columns = [{"name": "other", "kind": "number"}, {"name": name, "kind": "category"}]
    upload = Upload(
        **{"id": asked.upload, "name": name, "ending": ".csv", "bytes": 1, "rows": 1},
        **{"columns": columns, "target": name, "notes": [], "preview": []},
    )
    where = {"file_name": upload.file_name, "column": upload.column(name)}
    best = BestModel(title="linear SVM", error=1.0)
    record = JobRecord(id=asked.upload, title="", request=asked, created=0.0, model=best, **where)

    words = shlex.split(command_of(record))
    given = compare_command.make_context("compare", words[2 : words.index("tune") - 1]).params
    file_name, target = compare_arguments(python_of(record))

    assert words[:2] == ["separatrix", "compare"]
    assert given["data"] == (file_name,)
    assert file_name.removeprefix("./") == name.removeprefix("./")
    assert given["target"] == target
    assert parse_column(given["target"]) in (name, 1)
    assert given["models"] == "lda,svm"
    assert JobRecord.model_validate_json(record.model_dump_json()) == record


def test_records_of_earlier_versions_are_read():
    request = {"kind": "named", "name": "splice", "quick": False, "seed": 0}
    names = {"asked": request, "called": "a.csv", "words": ["it is so"]}
    old = {"id": "0" * 16, "title": "splice", "created": 1.0, "status": "done", **names}

    record = JobRecord.model_validate_json(json.dumps(old))

    assert (record.request.name, record.file_name, record.summary) == (
        "splice",
        "a.csv",
        ["it is so"],
    )
