import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// write makes a file in build/ with a text, and returns its path. A file is either
// whole or the one that was there before.
export function write(name, text) {
  const target = join(dirname(fileURLToPath(import.meta.url)), 'build', name)
  const temporary = `${target}.${process.pid}.tmp`
  mkdirSync(dirname(target), { recursive: true })
  try {
    const file = openSync(temporary, 'w')
    try {
      const body = Buffer.from(text)
      for (let done = 0; done < body.length;) done += writeSync(file, body, done)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { force: true })
  }
  return target
}
