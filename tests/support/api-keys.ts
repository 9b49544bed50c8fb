/** API keys for tests: programs that call the API. */
import { type Client, clientWithKey } from './api'

export type Program = Client & { id: string; name: string; key: string }

/** Makes a key over HTTP and returns its client. */
export async function createProgram(
  admin: Client,
  permissions: readonly string[],
  more: { name?: string; allowed_networks?: string[] } = {},
): Promise<Program> {
  const answer = await admin.post('/api-keys', { name: 'Importer', permissions, ...more })
  if (answer.status !== 201) throw new Error(`a key was answered ${answer.status} ${answer.text}`)
  const { id, name, key } = answer.body.data
  return { ...clientWithKey(key), id, name, key }
}
