// Prints what one version of Mermaid makes of diagrams, one JSON object per diagram.
// Arguments: the version, and files. A Markdown file has a diagram per mermaid fence.
import fs from 'node:fs'
import { JSDOM } from 'jsdom'

// Mermaid cleans labels with the DOM of a browser.
const { window } = new JSDOM('', { url: 'http://localhost' })
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis)) globalThis[name] = window[name]
}
const print = console.log
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {}

const [version, ...files] = process.argv.slice(2)
const { default: mermaid } = await import(`mermaid-${version}`)
mermaid.initialize({ startOnLoad: false, maxTextSize: 1e7, maxEdges: 1e5 })

for (const file of files) {
  const text = fs.readFileSync(file, 'utf8')
  for (const diagram of file.endsWith('.md') ? fenced(text) : [text]) {
    print(JSON.stringify({ file, ...(await read(diagram)) }))
  }
}

async function read(text) {
  try {
    const { type, db } = await mermaid.mermaidAPI.getDiagramFromText(text)
    await mermaid.parse(text) // what other programs call
    return { ok: true, type, ...(type.startsWith('flowchart') ? chart(db) : {}) }
  } catch (e) {
    return { ok: false, error: e.message }
  }
}

function chart(db) {
  return {
    direction: db.getDirection(),
    vertices: all(db.getVertices()).map((v) => ({ id: v.id, text: written(v.text), shape: v.type })),
    edges: all(db.getEdges()).map((e) => ({
      id: e.id, userId: e.isUserDefinedId, from: e.start, to: e.end, text: written(e.text), type: e.type, stroke: e.stroke, length: e.length,
    })),
    subgraphs: all(db.getSubGraphs()).map((s) => ({ id: s.id, title: written(s.title), nodes: s.nodes, dir: s.dir })),
  }
}

// Nodes are a map in one version and an object in another.
function all(list) {
  return typeof list.values === 'function' ? [...list.values()] : Object.values(list)
}

// Until it draws, Mermaid has the # and the ; of an entity replaced.
function written(text) {
  return text?.replaceAll('ﬂ°°', '#').replaceAll('ﬂ°', '#').replaceAll('¶ß', ';')
}

function fenced(text) {
  const blocks = []
  let fence, indent, block
  for (const line of text.split(/\r?\n/)) {
    if (!fence) {
      const open = /^([\s>]*)(`{3,}|~{3,})\s*(\w*)/.exec(line)
      if (!open) continue
      ;[, indent, fence] = open
      block = open[3].toLowerCase() === 'mermaid' ? [] : undefined
    } else if (new RegExp(`^[\\s>]*${fence}${fence[0]}*\\s*$`).test(line)) {
      if (block) blocks.push(block.join('\n'))
      fence = block = undefined
    } else {
      block?.push(line.startsWith(indent) ? line.slice(indent.length) : line)
    }
  }
  if (block) blocks.push(block.join('\n'))
  return blocks
}
