/** Pictures in texts of other desks: those that their exports have as files are shown where they are imported. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { api, createOrganization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { commandSettings, importHere, move, newFolder } from '../../support/imports'
import { writeFiles } from '../../support/old-desks'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const AT = '2024-01-01T00:00:00Z'
const TIME = '2024-01-01 00:00:00'

let desk: StartedDesk
let env: Record<string, string>
const base = newFolder()

beforeAll(async () => {
  desk = await startDesk()
  env = commandSettings(desk.database.url)
})
afterAll(async () => {
  await desk.stop()
  fs.rmSync(base, { recursive: true, force: true })
})

const insert = (table: string, row: Record<string, string>) =>
  `INSERT INTO \`${table}\` (\`${Object.keys(row).join('`,`')}\`) VALUES ('${Object.values(row).join("','")}');\n`

const thread = (id: string, body: string) =>
  insert('threads', { id, conversation_id: '11', type: '1', state: '2', body, created_at: TIME })

const zendesk = (address: string) => ({
  'tickets.json': JSON.stringify({ tickets: [{ id: 1, subject: 'S', status: 'open', requester_id: 2 }] }),
  'comments/1.json': JSON.stringify({
    comments: [
      {
        ...{
          id: 10,
          ticket_id: 1,
          author_id: 2,
          public: true,
          created_at: AT,
          html_body: `<p><img src="${address}"></p>`,
        },
        attachments: [
          {
            id: 9,
            file_name: 'a.png',
            content_type: 'image/png',
            content_url: 'https://d.example/t/T/?name=a.png&x=1',
          },
        ],
      },
    ],
  }),
  'attachments/9/a.png': PNG,
})

const freshdesk = (address: string) => ({
  'tickets.json': JSON.stringify([
    {
      ...{ id: 1, subject: 'S', status: 2, priority: 1, requester_id: 2, created_at: AT },
      description: `<div><img src="${address}"></div>`,
      attachments: [
        {
          ...{ id: 9, name: 'a.png', content_type: 'image/png' },
          attachment_url: 'https://s3.example/data/helpdesk/attachments/production/9/original/a.png?X-Sign=1',
        },
      ],
    },
  ]),
  'attachments/9/a.png': PNG,
})

const freescout = (address: string) => ({
  'dump.sql': [
    insert('conversations', { id: '11', number: '1', status: '1', state: '2', subject: 'S', created_at: TIME }),
    thread('31', '<p>First</p>'),
    thread('32', `<p><img src="${address}"></p>`),
    insert('attachments', {
      id: '9',
      thread_id: '31',
      file_dir: '1/2/3/',
      file_name: 'ä b.png',
      mime_type: 'image/png',
    }),
  ].join(''),
  'attachment/1/2/3/ä b.png': PNG,
})

type Desk = (address: string) => Record<string, string | Uint8Array>

test.each<[string, Desk, string]>([
  ['zendesk', zendesk, 'https://d.example/t/T/?name=a.png&amp;x=1'],
  ['freshdesk', freshdesk, 'https://s3.example/data/helpdesk/attachments/production/9/original/a.png?X-Sign=2'],
  ['freescout', freescout, 'https://old.example/help/storage/attachment/1/2/3/%C3%A4%20b.png?id=9&amp;token=x'],
])('of %s, also of an earlier message', async (name, files, address) => {
  const { admin, id } = await createOrganization()
  const [source, folder] = [path.join(base, `${name}-source`), path.join(base, name)]
  writeFiles(source, files(address))
  expect(await move(['convert', name, source, folder], env)).toMatchObject({ code: 0 })
  expect((await importHere(folder, id, env)).code).toBe(0)
  const [ticket] = (await admin.get('/tickets')).body.data
  const messages = (await admin.get(`/tickets/${ticket.id}/messages`)).body.data
  const [, src = ''] = /<img src="([^"]*)"/.exec(messages.at(-1).body_html) ?? []
  const answer = await api().handle(new Request(src.replaceAll('&amp;', '&')))
  expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, PNG])
})

test.each<[string, Desk]>([
  ['zendesk', zendesk],
  ['freshdesk', freshdesk],
  ['freescout', freescout],
])('of %s that are no file of it stay what they are', async (name, files) => {
  const [source, folder] = [path.join(base, `${name}-other`), path.join(base, `${name}-others`)]
  writeFiles(source, files('https://elsewhere.example/storage/attachment/%zz/b.png?id=9'))
  expect(await move(['convert', name, source, folder], env)).toMatchObject({ code: 0 })
  expect(fs.readFileSync(path.join(folder, 'messages.jsonl'), 'utf8')).toContain('elsewhere.example')
})
