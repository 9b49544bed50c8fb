/** Ids that were encoded or folded, boundaries that a gateway changed, and invitations without words. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'
import { FROM, mail } from '../../support/written-mail'

describe('ids of other messages', () => {
  test.each([
    ['as an encoded word', ['In-Reply-To: =?us-ascii?Q?=3Cabc=2Edef=40x=2Eorg=3E?='], ['abc.def@x.org']],
    ['in base64', ['In-Reply-To: =?utf-8?B?PGFiYy5kZWZAeC5vcmc+?='], ['abc.def@x.org']],
    [
      'in two encoded words',
      ['In-Reply-To: =?utf-8?Q?=3Cabc=2E?=', ' =?utf-8?Q?def=40x=2Eorg=3E?='],
      ['abc.def@x.org'],
    ],
    ['folded within the id', ['In-Reply-To: <abc.', ' def@x.org>'], ['abc.def@x.org']],
    ['folded before the @', ['In-Reply-To:', ' <abc.def', '\t@x.org>'], ['abc.def@x.org']],
    ['folded between ids', ['In-Reply-To: <abc@x.org>', ' <def@x.org>'], ['abc@x.org', 'def@x.org']],
    ['among words', ['In-Reply-To: message <of Ann> <abc@x.org>'], ['abc@x.org']],
  ])('%s are read', async (_, field, ids) => {
    expect((await parseMail(mail(FROM, ...field, '', 'Hello'))).in_reply_to).toEqual(ids)
    const references = field.map((line) => line.replace('In-Reply-To', 'References'))
    expect((await parseMail(mail(FROM, ...references, '', 'Hello'))).references).toEqual(ids)
  })
})

describe('a boundary that differs', () => {
  const read = async (declared: string, line: string, end = `${line}--`) => {
    const part = ['Content-Type: text/plain', '', 'Hello', line, 'Content-Type: text/html', '', '<p>Page</p>', end]
    return parseMail(mail(FROM, `Content-Type: multipart/mixed; boundary=${declared}`, '', line, ...part, ''))
  }

  test.each([
    ['by case', '"----=_Part_AB"', '------=_part_ab'],
    ['by quotes around it', '"AB12"', '--"AB12"'],
    ['by quotes that are part of it', "'AB12'", '--AB12'],
    ['by a blank in it', '"AB 12"', '--AB12'],
    ['by a blank before it', '"AB12"', '-- AB12'],
    ['by a lost blank', '"AB12"', '--AB 12'],
  ])('%s is found', async (_, declared, line) => {
    const { text, body_html } = await read(declared, line)
    expect(text).toBe('Hello\n\nPage')
    expect(body_html).not.toContain('AB')
  })

  test('from another open one by case alone is another one', async () => {
    const inner = ['Content-Type: multipart/alternative; boundary=b', '', '--b', '', 'Hello', '--b--']
    const raw = mail(FROM, 'Content-Type: multipart/mixed; boundary=B', '', '--B', ...inner, '--B', '', 'Bye', '--B--')
    expect((await parseMail(raw)).text).toBe('Hello\n\nBye')
  })

  test('is text where the right one comes', async () => {
    const raw = mail(FROM, 'Content-Type: multipart/mixed; boundary=B', '', '--B', '', 'Hello', '--b', 'Bye', '--B--')
    expect((await parseMail(raw)).text.replace(/\r/g, '')).toBe('Hello\n--b\nBye')
  })

  test('in an inner multipart is found, and the outer one goes on', async () => {
    const inner = ['Content-Type: multipart/alternative; boundary=IN', '', '--in', '', 'Hello', '--in--']
    const raw = mail(FROM, 'Content-Type: multipart/mixed; boundary=b', '', '--b', ...inner, '--b', '', 'Bye', '--b--')
    expect((await parseMail(raw)).text).toBe('Hello\n\nBye')
  })
})

describe('an invitation', () => {
  const ZONE = [
    'BEGIN:VTIMEZONE',
    'TZID:Europe/Berlin',
    'BEGIN:STANDARD',
    'DTSTART:16010101T030000',
    'END:STANDARD',
    'END:VTIMEZONE',
  ]
  const calendar = (method: string | null, ...event: string[]) => [
    'BEGIN:VCALENDAR',
    ...(method === null ? [] : [`METHOD:${method}`]),
    ...ZONE,
    'BEGIN:VEVENT',
    ...event,
    'BEGIN:VALARM',
    'DESCRIPTION:REMINDER',
    'END:VALARM',
    'END:VEVENT',
    'END:VCALENDAR',
  ]
  const read = async (lines: string[], words = '') => {
    const parts = ['--b', '', words, '--b', 'Content-Type: text/calendar; charset=utf-8', '', ...lines, '--b--', '']
    return parseMail(mail(FROM, 'Content-Type: multipart/alternative; boundary=b', '', ...parts))
  }
  const EVENT = ['SUMMARY:Pump\\, again', 'LOCATION:Room 4\\nCellar', 'ORGANIZER;CN="Ann Smith":mailto:ann@x.org']

  test.each([
    [
      'with a zone',
      ['DTSTART;TZID=Europe/Berlin:20261117T090000', 'DTEND;TZID=Europe/Berlin:20261117T103000'],
      '2026-11-17 09:00 to 10:30 (Europe/Berlin)',
    ],
    ['in UTC', ['DTSTART:20261117T230000Z', 'DTEND:20261118T003000Z'], '2026-11-17 23:00 to 2026-11-18 00:30 (UTC)'],
    ['with a duration', ['DTSTART:20261117T090000Z', 'DURATION:PT1H30M'], '2026-11-17 09:00 for 1 h 30 min (UTC)'],
    ['of no zone', ['DTSTART:20261117T090000'], '2026-11-17 09:00 (local time)'],
    ['of a day', ['DTSTART;VALUE=DATE:20261117', 'DTEND;VALUE=DATE:20261118'], '2026-11-17'],
    ['of days', ['DTSTART;VALUE=DATE:20261130', 'DTEND;VALUE=DATE:20261203'], '2026-11-30 to 2026-12-02'],
    [
      'in two zones',
      ['DTSTART;TZID="W. Europe Standard Time":20261117T090000', 'DTEND:20261117T100000Z'],
      '2026-11-17 09:00 (W. Europe Standard Time) to 10:00 (UTC)',
    ],
  ])('%s says what it is about', async (_, times, time) => {
    const { text, reply_text } = await read(calendar('REQUEST', ...times, ...EVENT))
    const words = `Invitation: Pump, again\nTime: ${time}\nPlace: Room 4 Cellar\nOrganizer: Ann Smith (ann@x.org)`
    expect([text, reply_text]).toEqual([words, words])
  })

  test('that is cancelled says so, with what is described', async () => {
    const { text, attachments } = await read(calendar('CANCEL', 'DESCRIPTION:Bring\\ntools', ...EVENT))
    expect(text).toBe('Cancelled: Pump, again\nPlace: Room 4 Cellar\nOrganizer: Ann Smith (ann@x.org)\n\nBring\ntools')
    expect(attachments.map(({ content_type }) => content_type)).toEqual(['text/calendar'])
  })

  test.each(['PUBLISH', null])('is no calendar of the method %p', async (method) => {
    expect((await read(calendar(method, ...EVENT))).text.trim()).toBe('')
  })

  test('with words of its own keeps them alone', async () => {
    expect((await read(calendar('REQUEST', ...EVENT), 'See you there')).text.trim()).toBe('See you there')
  })

  test('without a title, or broken, stays an empty mail or says so', async () => {
    expect((await read(calendar('REQUEST', 'DTSTART:soon'))).text).toBe('Invitation: (no title)')
    expect((await read(['BEGIN:VCALENDAR', 'METHOD:REQUEST'])).text.trim()).toBe('')
  })
})
