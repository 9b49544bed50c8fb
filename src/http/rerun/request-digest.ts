/**
 * Digests the content of a request, to compare it with another one under the same idempotency key. An upload or an
 * email is digested while it is read, because it may be too large for memory.
 */
import { createHash, type Hash } from 'node:crypto'
import { config } from '../../base/config'
import type { Scope } from '../../base/scope'
import type { Declaration } from '../request/declarations'
import { cleanFileName, mediaType } from '../request/file-name'
import { readUpload } from '../request/upload'
import type { Call } from './route-handlers'

/** The content of a request: exactly one of `forHandler` and `read` is called, because a body can be read only once. */
export type Content = {
  /** Null until a body that is not JSON has been read. */
  digest: Buffer | null
  /** Returns the request for the handler, whose reading is digested. */
  forHandler(): Request
  /** Returns the digest after the handler has returned `value`. */
  finish(scope: Scope, value: unknown): Promise<Buffer>
  /** Reads and digests the body of a request whose handler does not run. */
  read(): Promise<Buffer>
}

/**
 * Returns the content of a request.
 * @param body what the route declares of its body: JSON has been read already, the others have not
 */
export function contentOf(call: Call, body: Declaration['body']): Content {
  if (body === 'form') return uploadOf(call.request)
  if (body === 'bytes') return bytesOf(call.request)
  const { search } = new URL(call.request.url)
  // A symbol stands for a body that could not be read (`request-body.ts`); its route does not need one.
  const said = typeof call.body === 'symbol' ? null : call.body
  const digest = startOf(search)
    .update(JSON.stringify(said ?? null))
    .digest()
  return { digest, forHandler: () => call.request, finish: async () => digest, read: async () => digest }
}

/** Compares name, type and bytes of the file: the boundary between the parts is another one in each attempt. */
function uploadOf(request: Request): Content {
  return {
    digest: null,
    forHandler: () => request,
    async finish({ sql, organization_id }, value) {
      const { id } = (value as { response: { data: { id: string } } }).response.data
      const [file] = await sql<{ filename: string; content_type: string; digest: string }[]>`
        select filename, content_type, digest from attachments where organization_id = ${organization_id} and id = ${id}`
      if (!file) throw new Error('The upload was removed at once')
      return digestOfFile(file.filename, file.content_type, file.digest)
    },
    read: () =>
      readUpload(request, async ({ filename, content_type, bytes }) => {
        const hash = createHash('sha256')
        for await (const chunk of bytes) hash.update(chunk)
        return digestOfFile(cleanFileName(filename), mediaType(content_type), hash.digest('hex'))
      }),
  }
}

function digestOfFile(...parts: string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function bytesOf(request: Request): Content {
  const hash = startOf(new URL(request.url).search)
  const { method, headers, body } = request
  return {
    digest: null,
    forHandler: () =>
      body ? new Request(request.url, { method, headers, body: body.pipeThrough(passing(hash)) }) : request,
    finish: async () => hash.digest(),
    async read() {
      const hash = startOf(new URL(request.url).search)
      let size = 0
      for await (const chunk of body ?? []) {
        hash.update(chunk)
        size += chunk.length
        // A larger email was refused the first time, so it cannot be the same.
        if (size > config.SMTP_MAX_BYTES) break
      }
      return hash.digest()
    },
  }
}

function passing(hash: Hash): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      hash.update(chunk)
      controller.enqueue(chunk)
    },
  })
}

function startOf(search: string): Hash {
  return createHash('sha256').update(`${search}\n`)
}
