/** Text whose lines flow (RFC 3676). */
import { expect, test } from 'bun:test'
import { joinFlowed } from '../../../src/base/mime/flowed'
import { parseMail } from '../../../src/mail/parse/parse'

test.each([
  ['lines that end with a space', 'One \ntwo \nthree.\nFour.', 'One two three.\nFour.'],
  ['quoted lines', '> long \n> more\n> end', '> long more\n> end'],
  ['quoted lines of one depth only', '>> A \n>> b \n> C \n> d \ne', '>> A b \n> C d \ne'],
  ['quote marks without a space', '>>>One \n>>>two', '>>> One two'],
  ['a paragraph behind a quote that never ends', '> Shall we? \nNo!', '> Shall we? \nNo!'],
  ['a quote behind a paragraph that never ends', 'You wrote: \n> Yes', 'You wrote: \n> Yes'],
  ['the line above a signature', 'Bye \n-- \nAnn\nExample Ltd.', 'Bye \n-- \nAnn\nExample Ltd.'],
  ['a quoted signature', '> Bye \n> -- \n> Ann', '> Bye \n> -- \n> Ann'],
  ['stuffed lines', ' From here \n  two\n > three', 'From here  two\n> three'],
  ['stuffed quotes', '>  two \n>  spaces', '>  two  spaces'],
  ['empty lines', 'One \n\nTwo\n>\n> \n', 'One \n\nTwo\n>\n>\n'],
  ['nothing', '', ''],
])('%s are joined as far as they belong together', (_, text, expected) => {
  expect(joinFlowed(text, 'keep')).toBe(expected)
})

test('with DelSp the space at the end goes, so that words may be broken anywhere', () => {
  expect(joinFlowed('日本 \n語  \ntext.\n> quo \n> te', 'drop')).toBe('日本語 text.\n> quote')
})

test('the answer below a quote that flows is the new part of the reply', async () => {
  const head = 'From: ann@example.com\r\nContent-Type: text/plain; format=Flowed; delsp=no\r\n\r\n'
  const body = 'Thanks.\r\n\r\nOn 20.11.26 09:12, Support wrote:\r\n> Shall we \r\n> cancel? \r\nNo, please not!'
  const { text, reply_text } = await parseMail(Buffer.from(head + body))
  expect(text).toBe('Thanks.\n\nOn 20.11.26 09:12, Support wrote:\n> Shall we cancel? \nNo, please not!')
  expect(reply_text).toContain('No, please not!')
})
