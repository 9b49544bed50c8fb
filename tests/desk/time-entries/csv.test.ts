import { expect, test } from 'bun:test'
import { csvHeader } from '../../../src/base/shapes/csv-text'
import { COLUMNS, type CsvRow, rowsOfEntries } from '../../../src/desk/time-entries/csv'

const ROW: CsvRow = {
  date: '2026-01-31',
  code: 'TKT-1',
  subject: 'Printer on fire',
  company: 'Acme',
  user: 'Alan Agent',
  duration_minutes: 90,
  description: 'Water',
  billable: true,
  rate: '80.00',
  amount: '120.00',
  currency: 'EUR',
}

test('the header names the columns in the order of the interface', () => {
  expect(csvHeader(COLUMNS, {})).toBe(
    'Date,Ticket Code,Ticket Subject,Company,User,Duration,Description,Billable,Rate,Amount,Currency\r\n',
  )
})

test('a row ends with CRLF and has its cells in order', () => {
  expect(rowsOfEntries([ROW, { ...ROW, billable: false }], {})).toBe(
    '2026-01-31,TKT-1,"Printer on fire","Acme","Alan Agent",90,"Water",true,80.00,120.00,EUR\r\n' +
      '2026-01-31,TKT-1,"Printer on fire","Acme","Alan Agent",90,"Water",false,80.00,120.00,EUR\r\n',
  )
})

test('what is null is an empty cell', () => {
  expect(rowsOfEntries([{ ...ROW, company: null, description: null, rate: null, amount: null }], {})).toBe(
    '2026-01-31,TKT-1,"Printer on fire",,"Alan Agent",90,,true,,,EUR\r\n',
  )
})

test.each([
  ['Water', '"Water"'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['two\nlines', '"two\nlines"'],
  ['two\rlines', '"two\rlines"'],
  ['a;b', '"a;b"'],
  [' padded ', '" padded "'],
  ['ünï😀', '"ünï😀"'],
  ['=1+1', '"\'=1+1"'],
  ['+1', '"\'+1"'],
  ['-1', '"\'-1"'],
  ['@SUM(A1)', '"\'@SUM(A1)"'],
  ['\t=1', '"\'\t=1"'],
  ['\r=1', '"\'\r=1"'],
  ['\n=1', '"\'\n=1"'],
  ['＝1', '"\'＝1"'],
  ['＋1', '"\'＋1"'],
  ['－1', '"\'－1"'],
  ['＠SUM(A1)', '"\'＠SUM(A1)"'],
  ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
  ['a=1', '"a=1"'],
  ["'=1", '"\'=1"'],
])('the text %j is the cell %j', (text, cell) => {
  expect(rowsOfEntries([{ ...ROW, description: text }], {}).split('90,')[1]).toBe(`${cell},true,80.00,120.00,EUR\r\n`)
})

test('cells are separated, and money is written, as the query says', () => {
  const form = { bom: true, delimiter: 'semicolon', decimal: 'comma' } as const
  expect(csvHeader(COLUMNS, form)).toBe(
    '\uFEFFDate;Ticket Code;Ticket Subject;Company;User;Duration;Description;Billable;Rate;Amount;Currency\r\n',
  )
  const row = { ...ROW, description: 'a,b;c' }
  expect(rowsOfEntries([row], form)).toBe(
    '2026-01-31;TKT-1;"Printer on fire";"Acme";"Alan Agent";90;"a,b;c";true;80,00;120,00;EUR\r\n',
  )
  expect(rowsOfEntries([row], { delimiter: 'tab' })).toBe(
    '2026-01-31\tTKT-1\t"Printer on fire"\t"Acme"\t"Alan Agent"\t90\t"a,b;c"\ttrue\t80.00\t120.00\tEUR\r\n',
  )
  expect(rowsOfEntries([ROW], { decimal: 'comma' })).toEndWith('true,"80,00","120,00",EUR\r\n')
})

test('every text cell is guarded', () => {
  const row = { ...ROW, subject: '=a', company: '+b', user: '@c', description: '-d' }
  expect(rowsOfEntries([row], {})).toBe(`2026-01-31,TKT-1,"'=a","'+b","'@c",90,"'-d",true,80.00,120.00,EUR\r\n`)
})
