/** The end of the new part of a reply: quotes, separators and signatures of many mail programs. */
import { describe, expect, test } from 'bun:test'
import { replyText } from '../../../src/mail/parse/reply-text'

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
    ['Gmail in Japanese', 'New.\n\n2025年7月1日(火) 10:00 Ann <ann@x.org>:\n\n> Old.'],
    ['Gmail in Chinese', 'New.\n\nAnn <ann@x.org> 于2025年7月1日周二 10:00写道：\n\n> Old.'],
    ['Gmail in Russian', 'New.\n\nвт, 1 июл. 2025 г. в 10:00, Ann <ann@x.org>:\n\n> Old.'],
    ['Gmail in Turkish', 'New.\n\nAnn <ann@x.org>, 1 Tem 2025 Sal, 10:00 tarihinde\nşunu yazdı:\n\nOld.'],
    ['Gmail in Finnish', 'New.\n\nti 1. heinäk. 2025 klo 10.00 Ann (ann@x.org) kirjoitti:\n\n> Old.'],
    ['Zoho', 'New.\n\n---- On Tue, 01 Jul 2025 10:00:00 +0200 Ann <ann@x.org> wrote ----\n\nOld.'],
    ['GMX', 'New.\n \nGesendet: Dienstag, 01. Juli 2025 um 10:00 Uhr\nVon: Ann\nAn: Bob\nBetreff: Old\n\nOld.'],
    ['Notes', 'New.\n\nAnn Smith ---01.07.2025 10:00:00---Old.'],
    [
      'Gmail in Hebrew',
      'New.\n\n\u202bבתאריך 1 ביולי 2025 ב-10:00 מאת \u202aAnn\u202c <\u202aann@x.org\u202c>:\u202c\n\n> Old.',
    ],
    ['Tuta', 'New.\n\nJul 1, 2025, 10:00 by ann@x.org:\n\n> Old.'],
    ['Outlook in Czech', 'New.\n\nOd: Ann <ann@x.org>\nOdesláno: 1. 7. 2025 10:00\nKomu: Bob\nPředmět: Old\n\nOld.'],
    [
      'Outlook in Korean',
      'New.\n\n보낸 사람: Ann\n보낸 날짜: 2025년 7월 1일 화요일 오전 10:00\n받는 사람: Bob\n제목: Old\n\nOld.',
    ],
    [
      'Outlook in Arabic',
      'New.\n\n*من:* Ann <ann@x.org>\n*تم الإرسال:* 1 2025 10:00\n*إلى:* Bob\n*الموضوع:* Old\n\nOld.',
    ],
    ['Outlook on a phone in Spanish', 'New.\n\nObtener Outlook para iOS<https://aka.ms/o0ukef>'],
    ['a phone in Japanese', 'New.\n\niPhoneから送信'],
    ['a phone in Polish', 'New.\n\nWysłane z iPhone’a'],
    ['who forwards with Apple Mail', 'New.\n\nBegin forwarded message:\n\nFrom: Ann <ann@x.org>\nDate: x\nTo: y'],
    ['a signature', 'New.\n\n-- \nAnn\nExample Ltd.'],
  ])('of %s', (_, text) => {
    expect(replyText(text)).toBe('New.')
  })

  test('answers between quoted lines stay, with the lines that they answer', () => {
    const text = 'On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.\n> Three?'
    expect(replyText(text)).toBe('On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.')
  })

  test.each([
    '> only a quote',
    'On Monday I wrote: nothing',
    'From: here to there',
    'Date: Monday\nFrom: me',
    'Meet at 10:00 in 2025: yes',
    'Name: Ann\nE-Mail: ann@x.org\nDate: 1.7.2025 10:00\nSize: 5\nColour: red',
    'Hello,\nI have an iPhone',
    'Hello,\nsent from Myanmar',
    'Hello,\n\nSent via UPS, tracking number 1Z999AA10123456784',
    'Hallo,\n\ngesendet mit DHL, Sendungsnummer 00340434161094042557',
    'Hi,\n\nGet Adobe for Android does not install',
    '--\nnot much',
  ])('%p is kept', (text) => {
    expect(replyText(text)).toBe(text)
  })
})
