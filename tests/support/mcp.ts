/** Messages of the Model Context Protocol for tests, over `app.handle`. */
import { type Answer, api, type Client } from './api'

type Message = { method: string; params?: object; id?: number | string | null }

/** Sends what a program sends to `/mcp`, as it stands. */
export async function postMcp(
  body: unknown,
  { authorization, path = '/mcp', ...headers }: Record<string, string> = {},
): Promise<Answer> {
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(authorization && { authorization }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const response = await api().handle(request)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined, text }
}

/** The header by which a client of the API says who it is: a token of a person, or a key. */
export function credentialOf(client: Pick<Client, 'token'>): string {
  return `Bearer ${client.token}`
}

/** Sends one message. @returns its result @throws Error when there is none */
export async function ask(client: Pick<Client, 'token'>, { id = 1, ...message }: Message, headers = {}) {
  const answer = await postMcp({ jsonrpc: '2.0', id, ...message }, { authorization: credentialOf(client), ...headers })
  if (!answer.body?.result) throw new Error(`${message.method} was answered ${answer.status} ${answer.text}`)
  return answer.body.result
}

/** Calls a tool. */
export function useTool(client: Pick<Client, 'token'>, name: string, given: object = {}, headers = {}) {
  return ask(client, { method: 'tools/call', params: { name, arguments: given } }, headers)
}

// biome-ignore lint/suspicious/noExplicitAny: schemas of every shape
export type ListedTool = { name: string; description: string; inputSchema: any; annotations: Record<string, unknown> }

/** Lists tools; all of them, or those for daily work. */
export async function listTools(client: Pick<Client, 'token'>, which: 'all' | 'daily' = 'all'): Promise<ListedTool[]> {
  return (await ask(client, { method: 'tools/list' }, { path: which === 'all' ? '/mcp?tools=all' : '/mcp' })).tools
}
