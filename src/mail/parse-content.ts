/** Content transfer encodings (RFC 2045 section 6), read as leniently as mail programs do. */

/** Decodes the bytes of a part. An unknown encoding leaves them as they are. */
export function decodeContent(bytes: Buffer, encoding: string): Buffer {
  if (encoding.startsWith('base64')) return decodeBase64(bytes.toString('latin1'))
  if (/^quoted-?printable/.test(encoding)) return decodeQuotedPrintable(bytes.toString('latin1'))
  if (/^(?:x-)?uu/.test(encoding)) return decodeUuencoded(bytes.toString('latin1'))
  return bytes
}

/** Several padded pieces in a row are decoded one by one; a line of dashes (a broken delimiter) ends the data. */
function decodeBase64(text: string): Buffer {
  const end = /^--/m.exec(text)?.index ?? text.length
  const clean = text.slice(0, end).replace(/[^A-Za-z0-9+/=]+/g, '')
  return Buffer.concat((clean.match(/[^=]+/g) ?? []).map((piece) => Buffer.from(piece, 'base64')))
}

/** Raw 8-bit bytes and a `=` that starts no code are kept. */
function decodeQuotedPrintable(text: string): Buffer {
  const joined = text
    .split('\n')
    .map((line) => line.replace(/\r$/, '').trimEnd())
    .join('\r\n')
    .replace(/=\r\n/g, '')
    .replace(/=$/, '')
    .replace(/=([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return Buffer.from(joined, 'latin1')
}

function decodeUuencoded(text: string): Buffer {
  const lines = text.split(/\r?\n/)
  const first = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line)) + 1
  const last = lines.findIndex((line, index) => index >= first && line.trim() === 'end')
  return Buffer.concat(lines.slice(first, last < 0 ? lines.length : last).map(decodeUuencodedLine))
}

function decodeUuencodedLine(line: string): Buffer {
  const values = Array.from(line, (char) => (char.charCodeAt(0) - 32) & 63)
  const [length = 0, ...sextets] = values
  const bytes: number[] = []
  for (let index = 0; index < sextets.length; index += 4) {
    const [a = 0, b = 0, c = 0, d = 0] = sextets.slice(index, index + 4)
    bytes.push((a << 2) | (b >> 4), ((b & 15) << 4) | (c >> 2), ((c & 3) << 6) | d)
  }
  return Buffer.from(bytes.slice(0, length))
}
