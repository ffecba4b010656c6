# Calls a function of a module of the project: FILE FUNCTION json|text ARGUMENTS
import importlib, json, os, sys

file, function, form, arguments = sys.argv[1:5]
sys.path.insert(0, os.getcwd())
module = importlib.import_module(os.path.splitext(file)[0].replace("/", "."))
result = getattr(module, function)(*json.loads(arguments))
print(json.dumps(result) if form == "json" else result)
