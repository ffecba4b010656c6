import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Prints what PlantUML makes of the diagrams in files, one JSON object per diagram. PlantUML
 * has no public access to what it has read, so this looks at its fields, by names that all
 * tested versions have.
 */
public class ReadPlantUML {
  public static void main(String[] files) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setErr(new PrintStream(OutputStream.nullOutputStream()));
    for (String file : files) {
      Object reader = Class.forName("net.sourceforge.plantuml.SourceStringReader")
          .getConstructor(String.class).newInstance(Files.readString(Path.of(file)));
      List<?> blocks = (List<?>) call(reader, "getBlocks");
      if (blocks.isEmpty()) {
        out.println(json(object("file", file, "ok", false, "error", "no diagram between @startuml and @enduml")));
      }
      for (Object block : blocks) {
        Map<String, Object> read = object("file", file);
        try {
          read.putAll(diagram(call(block, "getDiagram")));
        } catch (ReflectiveOperationException e) {
          read.putAll(object("ok", false, "error", "PlantUML fails: " + e.getCause()));
        }
        out.println(json(read));
      }
    }
    System.exit(0); // PlantUML may have started threads
  }

  static Map<String, Object> diagram(Object d) throws Exception {
    String type = d.getClass().getSimpleName();
    if (type.startsWith("PSystemError")) {
      List<Object> errors = new ArrayList<>();
      for (Object e : (Collection<?>) call(d, "getErrorsUml")) {
        errors.add(call(e, "getError"));
      }
      return object("ok", false, "type", type, "error", errors.toString());
    }
    Map<String, Object> m = object("ok", true, "type", type);
    if (!type.equals("ActivityDiagram3")) {
      return m;
    }
    Object lanes = field(d, "swinlanes", "swimlanes");
    Object root = field(lanes, "root");
    List<Object> unclosed = new ArrayList<>();
    for (Object o = field(lanes, "currentInstruction"); o != null && o != root; o = call(o, "getParent")) {
      unclosed.add(0, kind(o));
    }
    List<Object> names = new ArrayList<>();
    for (Object lane : (List<?>) field(lanes, "swimlanesRaw", "swimlanes")) {
      names.add(object("name", field(lane, "name"), "label", text(lane, "display")));
    }
    m.putAll(object("unclosed", unclosed, "swimlanes", names, "title", text(call(d, "getTitle"), "display"),
        "body", object("body", body(root))));
    return m;
  }

  static String kind(Object element) {
    return element.getClass().getSimpleName().replace("Instruction", "").toLowerCase();
  }

  static Map<String, Object> element(Object e) {
    String kind = kind(e);
    Map<String, Object> m = object("k", kind, "lane", field(field(e, "swimlane", "swimlaneIn"), "name"));
    for (String link : List.of("inlinkRendering", "topInlinkRendering", "nextLinkRenderer", "linkRendering")) {
      m.putAll(object("arrow", text(field(e, link), "display")));
    }
    if (Boolean.TRUE.equals(field(e, "killed"))) {
      m.put("killed", true);
    }
    switch (kind) {
      case "simple" -> m.putAll(object("text", text(e, "label")));
      case "spot" -> m.putAll(object("text", field(e, "spot")));
      case "goto", "label" -> m.putAll(object("name", field(e, "name")));
      case "if" -> {
        m.put("then", branches(field(e, "thens")));
        Object otherwise = field(e, "elseBranch");
        m.putAll(object("else", otherwise == null ? null : branch(otherwise)));
      }
      case "switch" -> m.putAll(object("test", text(e, "labelTest"), "cases", branches(field(e, "switches"))));
      case "fork" -> m.putAll(object("style", field(e, "style"), "label", field(e, "label"), "branches", bodies(field(e, "forks"))));
      case "split" -> m.put("branches", bodies(field(e, "splits")));
      case "while" -> {
        Object last = field(e, "specialOut");
        m.putAll(object("test", text(e, "test"), "yes", text(e, "yes"), "out", text(field(e, "outColor"), "display"),
            "backward", text(e, "backward"), "body", body(field(e, "repeatList")), "specialOut", last == null ? null : element(last)));
      }
      case "repeat" -> m.putAll(object("start", text(e, "startLabel"), "test", text(e, "test"), "yes", text(e, "yes"), "not", text(e, "out"),
          "backward", text(e, "backward"), "backIn", text(field(e, "incoming1"), "display"), "backOut", text(field(e, "incoming2"), "display"),
          "endArrow", text(field(e, "endRepeatLinkRendering"), "display"), "backwardNotes", notes(field(e, "backwardNotes")),
          "body", body(field(e, "repeatList"))));
      case "group", "partition" -> m.putAll(object("title", text(e, "title"), "body", body(field(e, "list"))));
      case "list" -> {
        m.remove("lane");
        m.put("body", body(e));
      }
      default -> { }
    }
    List<Object> notes = notes(field(e, "notes"));
    notes.addAll(notes(field(e, "note")));
    m.putAll(object("notes", notes));
    return m;
  }

  static List<Object> body(Object list) {
    List<Object> all = new ArrayList<>();
    for (Object e : (List<?>) field(list, "all")) {
      all.add(element(e));
    }
    return all;
  }

  static List<Object> bodies(Object lists) {
    List<Object> all = new ArrayList<>();
    for (Object list : (List<?>) lists) {
      all.add(body(list));
    }
    return all;
  }

  static List<Object> branches(Object list) {
    List<Object> all = new ArrayList<>();
    for (Object b : (List<?>) list) {
      all.add(branch(b));
    }
    return all;
  }

  static Map<String, Object> branch(Object b) {
    return object("test", text(b, "labelTest"), "when", text(field(b, "labelPositive"), "display"), "in", text(field(b, "inlabel"), "display"),
        "out", text(field(b, "inlinkRendering"), "display"), "body", body(field(b, "list")));
  }

  static List<Object> notes(Object notes) {
    List<Object> all = new ArrayList<>();
    if (!(notes instanceof Collection)) {
      notes = notes == null ? List.of() : List.of(notes); // where there can be only one
    }
    for (Object n : (Collection<?>) notes) {
      all.add(object("text", text(n, "display"), "pos", field(n, "notePosition"), "type", field(n, "type")));
    }
    return all;
  }

  /** The lines of a field that is shown, or null. */
  static String text(Object o, String name) {
    Object display = field(o, name);
    if (!(field(display, "displayData") instanceof List<?> lines) || Boolean.TRUE.equals(field(display, "isNull"))) {
      return null;
    }
    List<String> all = new ArrayList<>();
    for (Object line : lines) {
      all.add(String.valueOf(line));
    }
    return String.join("\n", all);
  }

  /** The first of these fields that the object has and that is not null. */
  static Object field(Object o, String... names) {
    for (String name : names) {
      for (Class<?> c = o == null ? null : o.getClass(); c != null; c = c.getSuperclass()) {
        try {
          Field f = c.getDeclaredField(name);
          f.setAccessible(true);
          if (f.get(o) != null) {
            return f.get(o);
          }
        } catch (NoSuchFieldException e) {
          continue;
        } catch (IllegalAccessException e) {
          throw new AssertionError(e);
        }
      }
    }
    return null;
  }

  static Object call(Object o, String name) throws ReflectiveOperationException {
    for (Class<?> c = o.getClass(); c != null; c = c.getSuperclass()) {
      for (Method m : c.getDeclaredMethods()) {
        if (m.getName().equals(name) && m.getParameterCount() == 0) {
          m.setAccessible(true);
          return m.invoke(o);
        }
      }
    }
    throw new NoSuchMethodException(o.getClass() + "." + name);
  }

  /** An object of JSON, without the keys that have no value. */
  static Map<String, Object> object(Object... pairs) {
    Map<String, Object> m = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      if (pairs[i + 1] != null && !pairs[i + 1].equals("") && !pairs[i + 1].equals(List.of())) {
        m.put((String) pairs[i], pairs[i + 1]);
      }
    }
    return m;
  }

  static String json(Object o) {
    if (o instanceof Boolean) {
      return o.toString();
    }
    List<String> parts = new ArrayList<>();
    if (o instanceof Map<?, ?> m) {
      m.forEach((key, value) -> parts.add(json(key) + ":" + json(value)));
      return "{" + String.join(",", parts) + "}";
    }
    if (o instanceof List<?> list) {
      list.forEach(value -> parts.add(json(value)));
      return "[" + String.join(",", parts) + "]";
    }
    StringBuilder b = new StringBuilder("\"");
    for (char c : o.toString().toCharArray()) {
      b.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : c);
    }
    return b.append('"').toString();
  }
}
