// Requests as programs in four languages, complete and ready to paste.

const shell = text => `'${text.replaceAll("'", `'\\''`)}'`

// JSON's strings are strings of JavaScript, Python and Go too, but for a lone surrogate, which no form gives.
const quoted = text => JSON.stringify(text)

/** The languages, each with the function that writes a request { method, url, body, type, key } in it. */
export const languages = new Map([
  ['curl', ({ method, url, body, type, key }) => [
    'curl', method !== 'GET' && !(body && method === 'POST') && `-X ${method}`, key && `-H ${shell(`X-API-Key: ${key}`)}`,
    body && `-H ${shell(`Content-Type: ${type}`)} --data-binary ${shell(body)}`, shell(url),
  ].filter(Boolean).join(' ')],
  ['JavaScript', request => {
    const { method, url, body } = request
    const options = [
      method !== 'GET' && `  method: ${quoted(method)},`,
      headersOf(request).length > 0 && `  headers: { ${headersOf(request).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(', ')} },`,
      body && `  body: ${quoted(body)},`,
    ].filter(Boolean)
    return `const response = await fetch(${quoted(url)}${options.length > 0 ? `, {\n${options.join('\n')}\n}` : ''})\nconsole.log(await response.text())`
  }],
  ['Python', request => {
    const { method, url, body } = request
    const parts = [
      quoted(url), method !== 'GET' && `method=${quoted(method)}`, body && `data=${quoted(body)}.encode()`,
      headersOf(request).length > 0 && `headers={${headersOf(request).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(', ')}}`,
    ].filter(Boolean)
    return `from urllib.request import Request, urlopen\n\nwith urlopen(Request(${parts.join(', ')})) as response:\n    print(response.read())`
  }],
  ['Go', request => {
    const { method, url, body } = request
    return `package main

import (
	"io"
	"log"
	"net/http"
	"os"${body ? '\n\t"strings"' : ''}
)

func main() {
	request, err := http.NewRequest(${quoted(method)}, ${quoted(url)}, ${body ? `strings.NewReader(${quoted(body)})` : 'nil'})
	if err != nil {
		log.Fatal(err)
	}
${headersOf(request).map(([name, value]) => `	request.Header.Set(${quoted(name)}, ${quoted(value)})\n`).join('')}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}`
  }],
])

const headersOf = ({ body, type, key }) => [key && ['X-API-Key', key], body && ['Content-Type', type]].filter(Boolean)
