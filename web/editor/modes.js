// The colours of the four notations. A mode reads a line from left to right and knows nothing about the
// meaning of what it reads: the diagnostics come from the server.
import { StreamLanguage } from "@codemirror/language";

const reference = /^(\$\{[^}\n]*\}?|\{\{[^}\n]*\}{0,2})/;

// prose reads text that may contain references.
function prose(stream, style) {
  if (stream.match(reference)) return "variableName";
  stream.next();
  stream.eatWhile(/[^${]/);
  return style;
}

const yaml = {
  startState: () => ({ block: -1 }), // the indentation of the key whose text follows, -1: none
  token(stream, state) {
    if (stream.sol()) {
      if (state.block >= 0 && (stream.indentation() > state.block || /^\s*$/.test(stream.string))) return prose(stream, "string");
      state.block = -1;
    } else if (state.block >= 0 && stream.indentation() > state.block) return prose(stream, "string");
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.sol() && stream.match(/^---\s*$/)) return "meta";
    if (stream.match(/^- /)) return "punctuation";
    if (stream.match(/^("[^"]*"|'[^']*'|[\w.$-]+)(?=\s*:(\s|$))/)) return "propertyName";
    if (stream.match(/^:\s*[|>][+-]?\d*\s*(?=#|$)/)) {
      state.block = stream.indentation();
      return "operator";
    }
    if (stream.match(reference)) return "variableName";
    if (stream.match(/^"([^"\\]|\\.)*"?|^'([^']|'')*'?/)) return "string";
    if (stream.match(/^(true|false|null|~|-?\d[\d_.]*)(?=\s*(,|\]|\}|#|$))/)) return "atom";
    if (stream.match(/^[:,[\]{}|>&*]/)) return "punctuation";
    stream.next();
    stream.eatWhile(/[^\s,:[\]{}$#"']/);
    return null;
  },
};

const xml = {
  startState: () => ({ in: "" }), // "", "tag", "comment" or "data"
  token(stream, state) {
    const until = { comment: "-->", data: "]]>" }[state.in];
    if (until) {
      const style = state.in === "comment" ? "comment" : "string";
      if (stream.skipTo(until)) {
        stream.match(until);
        state.in = "";
      } else stream.skipToEnd();
      return style;
    }
    if (state.in === "tag") {
      if (stream.eatSpace()) return null;
      if (stream.match(/^\/?>/)) {
        state.in = "";
        return "angleBracket";
      }
      if (stream.match(/^"[^"]*"?|^'[^']*'?/)) return "string";
      if (stream.match(/^[\w:.-]+/)) return "attributeName";
      stream.next();
      return "operator";
    }
    if (stream.match("<!--")) return (state.in = "comment"), "comment";
    if (stream.match("<![CDATA[")) return (state.in = "data"), "meta";
    if (stream.match(/^<[?!][^>]*>?/)) return "meta";
    if (stream.match(/^<\/?[\w:.-]*/)) return (state.in = "tag"), "tagName";
    if (stream.match(/^&#?\w+;/)) return "atom";
    if (stream.match(reference)) return "variableName";
    stream.next();
    stream.eatWhile(/[^<&${]/);
    return null;
  },
};

function chart(stream) {
  if (stream.eatSpace()) return null;
  if (stream.match(/^%%.*/)) return "comment";
  if (stream.match(/^(flowchart|graph|subgraph|end|direction|style|classDef|class|linkStyle|click|TD|TB|BT|LR|RL)\b/)) return "keyword";
  if (stream.match(/^\|[^|]*\|?/)) return "labelName";
  if (stream.match(/^[<ox]?(-{2,}|={2,}|-\.+-?)[>ox]?/)) return "operator";
  if (stream.match(/^"[^"]*"?/)) return "string";
  if (stream.match(/^[[({>/\\]+/)) return "bracket";
  if (stream.match(/^[\])}]+/)) return "bracket";
  if (stream.match(/^[\w-]+/)) return "variableName";
  stream.next();
  return null;
}

const markdown = {
  startState: () => ({ in: "", began: false, yaml: yaml.startState() }), // "", "head", "chart" or "code"
  token(stream, state) {
    if (stream.sol()) {
      const first = !state.began;
      if (/\S/.test(stream.string)) state.began = true;
      if (/^---\s*$/.test(stream.string) && (state.in === "head" || first || state.section) && (state.in === "" || state.in === "head")) {
        state.in = state.in === "head" ? "" : "head";
        state.section = false;
        stream.skipToEnd();
        return "meta";
      }
      if (state.in === "" && /^#{1,6}\s/.test(stream.string)) {
        state.section = true;
        stream.skipToEnd();
        return "heading";
      }
      if (/\S/.test(stream.string) && state.in === "") state.section = false;
      if (/^\s*(```|~~~)/.test(stream.string) && state.in !== "head") {
        state.in = state.in ? "" : /mermaid/.test(stream.string) ? "chart" : "code";
        stream.skipToEnd();
        return "meta";
      }
    }
    if (state.in === "head") return yaml.token(stream, state.yaml);
    if (state.in === "chart") return chart(stream);
    if (state.in === "code") return stream.skipToEnd(), "string";
    if (stream.match(/^(\*\*[^*]+\*\*|`[^`]+`)/)) return "strong";
    if (stream.match(reference)) return "variableName";
    stream.next();
    stream.eatWhile(/[^*`${]/);
    return null;
  },
};

const mermaid = { startState: () => ({}), token: chart };

const words = /^(start|stop|end( fork| split| merge| note)?|if|then|elseif|else|endif|switch|case|endswitch|while|is|endwhile|repeat( while)?|not|backward|break|fork( again)?|endfork|split( again)?|endsplit|partition|group|kill|detach|goto|label|title|skinparam|note|floating|right|left|legend|endlegend|header|footer)\b/;

const plantuml = {
  startState: () => ({ in: "", yaml: yaml.startState() }), // "", "step" or "note"
  token(stream, state) {
    if (state.in === "note") {
      if (stream.sol() && stream.match(/^\s*end ?note\s*$/)) return (state.in = ""), "keyword";
      if (stream.match(/^\s*<<[^>]*>>/)) return "meta";
      return yaml.token(stream, state.yaml);
    }
    if (state.in === "step") {
      if (stream.match(/^[;|<>/\]}]\s*$/)) return (state.in = ""), "bracket";
      if (stream.match(reference)) return "variableName";
      stream.next();
      stream.eatWhile(/[^;|<>/\]}${]/);
      return "string";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^'.*/)) return "comment";
    if (stream.match(/^[@!]\w+/)) return "meta";
    if (stream.match(/^\|[^|]*\|([^|]*\|)?/)) return "labelName";
    if (stream.match(/^(floating )?note( right| left)?\s*$/)) {
      state.in = "note";
      state.yaml = yaml.startState();
      return "keyword";
    }
    if (stream.match(/^:/)) return (state.in = "step"), "bracket";
    if (stream.match(words)) return "keyword";
    if (stream.match(/^\([^)]*\)?/)) return "string";
    if (stream.match(/^-+(\[[^\]]*\])?-*>/)) return "operator";
    stream.next();
    stream.eatWhile(/[^\s(|:'-]/);
    return null;
  },
};

// mode returns the language of a notation. A drawing alone is a file, too.
export function mode(notation, file) {
  const parser = { yaml, xml, plantuml, mermaid: /\.(mmd|mermaid)$/.test(file) ? mermaid : markdown }[notation] ?? yaml;
  return StreamLanguage.define({ ...parser, languageData: { closeBrackets: { brackets: ["(", "[", "{", '"'] } } });
}
