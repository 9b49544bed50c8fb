/** Where the new part of a reply ends. */
import { describe, expect, test } from 'bun:test'
import { replyText } from '../src/mail/reply-text'

describe('the new part of a reply', () => {
  test.each([
    ['Gmail', 'New.\n\nOn Tue, 1 Jul 2025 at 10:00, Ann\n<ann@x.org> wrote:\n> Old.\n>\n> Older.'],
    ['Apple Mail in German', 'New.\n\n> Am 01.07.2025 um 10:00 schrieb Ann <ann@x.org>:\n> \n> Old.'],
    ['Thunderbird in German', 'New.\n\nAm 01.07.25 um 10:00 schrieb Ann:\n> Old.'],
    ['Gmail in French', 'New.\n\nLe mar. 1 juil. 2025 à 10:00, Ann <ann@x.org> a écrit :\n\n> Old.'],
    ['Gmail in Spanish', 'New.\n\nEl mar, 1 jul 2025 a las 10:00, Ann (<ann@x.org>)\nescribió:\n\n> Old.'],
    ['Outlook', 'New.\n\nFrom: Ann <ann@x.org>\nSent: Tuesday\nTo: Bob\nSubject: Old\n\nOld.'],
    [
      'Outlook in German',
      'New.\n\n________________________________\nVon: Ann\nGesendet: Dienstag\nAn: Bob\nBetreff: Old\n\nOld.',
    ],
    ['Outlook Express', 'New.\n\n-----Ursprüngliche Nachricht-----\nOld.'],
    ['a phone', 'New.\n\nSent from my iPhone\n\n> On 1 Jul 2025, at 10:00, Ann wrote:\n> Old.'],
    ['a signature', 'New.\n\n-- \nAnn\nExample Ltd.'],
  ])('of %s', (_, text) => {
    expect(replyText(text)).toBe('New.')
  })

  test('answers between quoted lines stay, with the lines that they answer', () => {
    const text = 'On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.\n> Three?'
    expect(replyText(text)).toBe('On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.')
  })

  test.each(['> only a quote', 'On Monday I wrote: nothing', 'From: here to there', '--\nnot much'])(
    '%p is kept',
    (text) => {
      expect(replyText(text)).toBe(text)
    },
  )
})
