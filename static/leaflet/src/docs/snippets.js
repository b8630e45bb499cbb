// Requests as programs in four languages, complete and ready to paste. Text is printed; a tile that is no text is written to a file,
// and an error in its place ends the program.

const shell = text => `'${text.replaceAll("'", `'\\''`)}'`

// JSON's strings are strings of JavaScript, Python and Go too, but for a lone surrogate, which no form gives.
const quoted = text => JSON.stringify(text)

const headersOf = ({ body, type, key }) => [key && ['X-API-Key', key], body && ['Content-Type', type]].filter(Boolean)

/** The name of the file for the answer to an address, or '' where that is text. */
export function fileOf(url) {
  const [, ending] = /\.(mvt|pbf|png)$/.exec(new URL(url).pathname) ?? []
  return ending ? `tile.${ending}` : ''
}

// --data-raw, because a body that begins with @ is no name of a file.
function curl({ method, url, body, type, key }) {
  const file = fileOf(url)
  return [
    'curl', file && `-fo ${file}`, method !== 'GET' && !(body && method === 'POST') && `-X ${method}`, key && `-H ${shell(`X-API-Key: ${key}`)}`,
    body && `-H ${shell(`Content-Type: ${type}`)} --data-raw ${shell(body)}`, shell(url),
  ].filter(Boolean).join(' ')
}

function javaScript(request) {
  const { method, url, body } = request
  const headers = headersOf(request).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`)
  const options = [
    method !== 'GET' && `  method: ${quoted(method)},`,
    headers.length > 0 && `  headers: { ${headers.join(', ')} },`,
    body && `  body: ${quoted(body)},`,
  ].filter(Boolean)
  const asked = `const response = await fetch(${quoted(url)}${options.length > 0 ? `, {\n${options.join('\n')}\n}` : ''})`
  const file = fileOf(url)
  if (!file) return `${asked}\nconsole.log(await response.text())`
  return `import { writeFile } from 'node:fs/promises'\n\n${asked}\nif (!response.ok) throw new Error(await response.text())\nawait writeFile(${quoted(file)}, new Uint8Array(await response.arrayBuffer()))`
}

function python(request) {
  const { method, url, body } = request
  const headers = headersOf(request).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`)
  const parts = [
    quoted(url), method !== 'GET' && `method=${quoted(method)}`, body && `data=${quoted(body)}.encode()`, headers.length > 0 && `headers={${headers.join(', ')}}`,
  ].filter(Boolean)
  const file = fileOf(url)
  const asked = `from urllib.request import Request, urlopen\n\nwith urlopen(Request(${parts.join(', ')})) as response`
  return file ? `${asked}, open(${quoted(file)}, "wb") as file:\n    file.write(response.read())` : `${asked}:\n    print(response.read().decode())`
}

function go(request) {
  const { method, url, body } = request
  const file = fileOf(url)
  const check = `	if err != nil {
		log.Fatal(err)
	}
`
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"${body ? '\n\t"strings"' : ''}
)

func main() {
	request, err := http.NewRequest(${quoted(method)}, ${quoted(url)}, ${body ? `strings.NewReader(${quoted(body)})` : 'nil'})
${check}${headersOf(request).map(([name, value]) => `	request.Header.Set(${quoted(name)}, ${quoted(value)})\n`).join('')}	response, err := http.DefaultClient.Do(request)
${check}	defer response.Body.Close()
${file && `	if response.StatusCode >= 400 {
		log.Fatal(response.Status)
	}
	file, err := os.Create(${quoted(file)})
${check}	defer file.Close()
`}	if _, err := io.Copy(${file ? 'file' : 'os.Stdout'}, response.Body); err != nil {
		log.Fatal(err)
	}
}`
}

/** The languages, each with the function that writes a request { method, url, body, type, key } in it. */
export const languages = new Map([['curl', curl], ['JavaScript', javaScript], ['Python', python], ['Go', go]])
