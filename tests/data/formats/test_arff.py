"""ARFF: what the declarations say holds, whatever the values look like."""

from separatrix.data.read_table import read_table

HEAD = "@relation r\n@attribute a {%s}\n@attribute b numeric\n@attribute class {x,y}\n@data\n"


def roles(data):
    return {spec.name: spec.role for spec in data.X.specs}


def test_nominal_attributes_of_three_numbers_are_categories(write):
    data = read_table(write(HEAD % "1,2,3" + "1,0.5,x\n2,1.5,y\n3,2.5,x\n", "r.arff"))
    assert roles(data) == {"a": "category", "b": "number"}


def test_nominal_attributes_of_two_numbers_are_left_to_their_values(write):
    data = read_table(write(HEAD % "0,1" + "1,0.5,x\n0,1.5,y\n1,2.5,x\n", "r.arff"))
    assert roles(data)["a"] != "category"
