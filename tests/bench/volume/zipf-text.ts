/**
 * Writes text whose words follow Zipf's law, as those of people do: the word of rank n comes 1/n as often as the first.
 * So there are words that half of all tickets have, and words that one in thousands has.
 */
import { type Random, startRandom } from './random'

const COMMON =
  'the to and a of in is i for you on it my that this with we not have be can please are your from when as at or if but ' +
  'our an me has was no do will so all any by get there what been up out after using only now need thanks hello hi'
const OFFICE =
  'team issue error account order invoice payment password login email page app help problem working update support ' +
  'customer service product file access report data system button screen link user phone number date time delivery ' +
  'shipment refund credit card charge billing subscription plan upgrade cancel renew license key code reset locked ' +
  'blocked failed missing wrong broken slow crash timeout server network printer laptop browser mobile android iphone ' +
  'windows export import sync calendar contact message attachment download upload install version release feature ' +
  'request change add remove delete edit save open close search filter sort list table column row chart dashboard ' +
  'widget settings profile company address street city country postcode warehouse package tracking courier return ' +
  'exchange warranty repair replacement part model serial battery charger cable adapter router modem wifi signal ' +
  'coverage roaming contract agreement terms policy privacy consent survey feedback review rating star quality price ' +
  'discount coupon voucher gift points loyalty member admin manager agent owner permission role group invite workspace ' +
  'project task ticket queue priority urgent deadline meeting call schedule appointment booking reservation flight ' +
  'hotel room seat baggage'
const CONSONANTS = 'b c d f g h j k l m n p r s t v w z br cl dr st tr pl gr sh ch'.split(' ')
const VOWELS = 'a e i o u ai ea ou'.split(' ')
const ENDS = ['', '', 'n', 'r', 's', 't', 'l', 'x', 'nd', 'rm']

const VOCABULARY = 20_000
/** Power of two: a word is drawn by the low bits of a random number. */
const DRAWS = 2 ** 20
const SENTENCE = 9

/** Words by rank, the most frequent first: `you` has rank 10, `error` rank 60. */
export const WORDS = makeWords(startRandom())

const draws = drawTable(WORDS)

/** Writes that many words, in sentences of nine. */
export function zipfText(random: Random, words: number): string {
  let text = ''
  for (let place = 0; place < words; place++) {
    if (place > 0) text += place % SENTENCE === 0 ? '. ' : ' '
    text += draws[random.next() & (DRAWS - 1)]
  }
  return text
}

function makeWords(random: Random): string[] {
  const words = new Set(`${COMMON} ${OFFICE}`.split(' '))
  while (words.size < VOCABULARY) {
    let word = ''
    const syllables = 2 + random.below(3)
    for (let syllable = 0; syllable < syllables; syllable++) word += random.pick(CONSONANTS) + random.pick(VOWELS)
    words.add(word + random.pick(ENDS))
  }
  return [...words]
}

/** Holds every word as often as Zipf's law says, and at least once. */
function drawTable(words: string[]): string[] {
  const weights = words.map((_, index) => 1 / (index + 1))
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  const table: string[] = []
  let share = 0
  for (const [index, word] of words.entries()) {
    share += weights[index]! / all
    const left = words.length - 1 - index
    const end = left === 0 ? DRAWS : Math.max(table.length + 1, Math.min(DRAWS - left, Math.round(share * DRAWS)))
    while (table.length < end) table.push(word)
  }
  return table
}
