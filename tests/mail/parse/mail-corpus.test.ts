/** Real mail from the test suites of nine projects: every expectation that comes with it is checked. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type ParsedMail, parseMail } from '../../../src/mail/parse/parse'

type Expectation = {
  subject?: string | null
  from_address?: string | null
  from_name?: string
  in_reply_to?: string | null
  references?: string[]
  body_text_contains?: string[]
  body_text_excludes?: string[]
  reply_text?: string
  reply_text_excludes?: string[]
  attachments?: { filename: string | null; size?: number | null; content_type: string | null }[] | null
  attachments_count?: number
  attachment_names_include?: string[]
  is_auto_reply?: boolean
  is_bounce?: boolean
}

/** Where this service knows better than the expectation: `file field` and why. */
const DEVIATIONS: Record<string, string> = {
  ...Object.fromEntries(
    [
      'sisimai__bsd_lhost-sendmail-57.eml',
      'sisimai__err_make-test-21.eml',
      'sisimai__err_make-test-23.eml',
      'sisimai__err_make-test-24.eml',
      'sisimai__err_make-test-28.eml',
      'stalwart__thirdparty_007.eml',
    ].flatMap((file) => [
      [`${file} from_address`, 'A word without a domain is no address: the envelope sender stands in.'],
      [`${file} from_name`, 'Belongs to that address.'],
    ]),
  ),
  'enmime__parts_ctype-invalid-characters.eml attachments[0].content_type': 'The junk behind `text/plain` is cut.',
  'sisimai__bsd_lhost-gmail-09.eml is_bounce': 'A warning of delay: delivery goes on, so nothing has bounced.',
  'sisimai__bsd_lhost-opensmtpd-04.eml is_bounce': 'A warning of delay: delivery goes on, so nothing has bounced.',
  'stalwart__rfc_001.eml attachments[1].filename': 'File names lose their path.',
}

const corpus = path.resolve(import.meta.dir, '../../../../shared/data/mail')
const hasCorpus = existsSync(path.join(corpus, 'expect.jsonl'))
if (!hasCorpus) console.log('The mail corpus is not here: its tests are skipped.')

test.skipIf(!hasCorpus)('every message of the corpus reads as its source expects', async () => {
  const lines = (await Bun.file(path.join(corpus, 'expect.jsonl')).text()).trim().split('\n')
  const deviations = new Set<string>()
  const failures: string[] = []
  for (const line of lines) {
    const { file, expect: expected } = JSON.parse(line) as { file: string; expect: Expectation }
    const mail = await parseMail(await readCrlf(path.join(corpus, file)))
    for (const [field, problem] of compare(mail, expected)) {
      if (DEVIATIONS[`${file} ${field}`]) deviations.add(`${file} ${field}`)
      else failures.push(`${file} ${field}: ${problem}`)
    }
  }
  expect(failures).toEqual([])
  expect([...deviations].sort()).toEqual(Object.keys(DEVIATIONS).sort())
  expect(lines.length).toBe(368)
})

function compare(mail: ParsedMail, expected: Expectation): [field: string, problem: string][] {
  const found: [string, string][] = []
  const check = (field: string, actual: unknown, wanted: unknown) => {
    if (wanted !== undefined && !Bun.deepEquals(actual, wanted)) {
      found.push([field, `${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`])
    }
  }
  const text = squeeze(mail.text)
  const reply = squeeze(mail.reply_text ?? '')
  check('subject', nullable(mail.subject), nullable(expected.subject))
  // Without a usable From the envelope sender stands in, which a file does not have.
  if (expected.from_address)
    check('from_address', mail.from?.address.toLowerCase(), expected.from_address.toLowerCase())
  if (expected.from_address) check('from_name', squeeze(mail.from?.name ?? ''), squeezeOptional(expected.from_name))
  check('in_reply_to', mail.in_reply_to[0] ?? null, optional(expected.in_reply_to, bare))
  check('references', mail.references, expected.references?.map(bare))
  for (const wanted of expected.body_text_contains ?? []) {
    if (!text.includes(squeeze(wanted)))
      found.push(['body', `${JSON.stringify(wanted)} is not in ${JSON.stringify(text.slice(0, 300))}`])
  }
  for (const unwanted of expected.body_text_excludes ?? []) {
    if (text.includes(squeeze(unwanted))) found.push(['body', `${JSON.stringify(unwanted)} is in the text`])
  }
  check('reply_text', reply, squeezeOptional(expected.reply_text))
  for (const unwanted of expected.reply_text_excludes ?? []) {
    if (reply.includes(squeeze(unwanted))) found.push(['reply_text', `${JSON.stringify(unwanted)} is in the reply`])
  }
  check('attachments_count', mail.attachments.length, expected.attachments_count)
  for (const name of expected.attachment_names_include ?? []) {
    if (!mail.attachments.some(({ filename }) => filename === name)) found.push(['attachment_names_include', name])
  }
  compareAttachments(mail, expected, check)
  check('is_auto_reply', mail.auto_reply, expected.is_auto_reply)
  check('is_bounce', mail.bounce?.kind === 'failed', expected.is_bounce)
  return found
}

function compareAttachments(
  mail: ParsedMail,
  expected: Expectation,
  check: (...args: [string, unknown, unknown]) => void,
) {
  if (!expected.attachments) return
  const names = mail.attachments.map(({ filename }) => filename)
  check('attachments', { count: names.length, names }, { count: expected.attachments.length, names })
  if (names.length !== expected.attachments.length) return
  for (const [index, wanted] of expected.attachments.entries()) {
    const actual = mail.attachments[index]
    if (wanted.filename)
      check(`attachments[${index}].filename`, squeeze(actual?.filename ?? ''), squeeze(wanted.filename))
    if (wanted.content_type)
      check(`attachments[${index}].content_type`, actual?.content_type, wanted.content_type.toLowerCase())
    if (wanted.size) check(`attachments[${index}].size`, actual?.content.length, wanted.size)
  }
}

async function readCrlf(file: string): Promise<Buffer> {
  const bytes = Buffer.from(await Bun.file(file).bytes())
  return Buffer.from(bytes.toString('latin1').replace(/\r\n|\n/g, '\r\n'), 'latin1')
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function squeezeOptional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : squeeze(text)
}

function optional<T, R>(value: T | null | undefined, map: (value: T) => R): R | null | undefined {
  return value === null || value === undefined ? (value as null | undefined) : map(value)
}

function nullable(text: string | null | undefined): string | null | undefined {
  return text === undefined ? undefined : text === null ? null : squeeze(text)
}

function bare(id: string): string {
  return id.replace(/^<|>$/g, '')
}
