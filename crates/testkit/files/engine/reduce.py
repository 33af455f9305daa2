# From the published model of the API (the archive in the first argument) to what the judge reads of it (the second).
import json, sys, zipfile

model = json.loads(zipfile.ZipFile(sys.argv[1]).read("model.json"))
types = {}
for kind in model["types"]:
    if kind["kind"] == "enum":
        types[kind["name"]] = {"values": [value["name"] for value in kind["values"]]}
    elif kind["kind"] == "struct":
        types[kind["name"]] = {"fields": {
            field["name"]: field["type"] for field in kind.get("attributes", []) + kind.get("links", [])}}
services = {}
for service in model["services"]:
    locators = {}
    item = None
    for locator in service.get("locators", []):
        if locator.get("parameters"):
            item = locator["service"]
        else:
            locators[locator["name"].replace("_", "")] = locator["service"]
    methods = {}
    for method in service.get("methods", []):
        # A method may have several forms: what one of them takes may be said.
        form = methods.setdefault(method["name"].replace("_", ""), {"name": method["name"], "in": {}, "out": {}})
        for parameter in method.get("parameters", []):
            for way in ("in", "out"):
                if parameter.get(way):
                    form[way][parameter["name"]] = parameter["type"]
    services[service["name"]] = {"locators": locators, "item": item, "methods": methods}
json.dump({"types": types, "services": services}, open(sys.argv[2], "w"))
