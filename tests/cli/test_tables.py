import pytest

from parsimon.cli.tables import read_table


@pytest.mark.parametrize(
    ("name", "mark"), [("rows.csv", ";"), ("rows.csv", "\t"), ("rows.tsv", ","), ("rows.txt", ";")]
)
def test_a_table_with_another_separator_than_its_name_says_is_read(tmp_path, name, mark):
    path = tmp_path / name
    path.write_text(mark.join(["size of leaf", "class"]) + "\n" + mark.join(["1.5", "a"]) + "\n")
    table = read_table(path)
    assert table.to_dict("list") == {"size of leaf": [1.5], "class": ["a"]}


def test_a_single_column_stays_one(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size\n1\n2\n")
    assert read_table(path)["size"].tolist() == [1, 2]
