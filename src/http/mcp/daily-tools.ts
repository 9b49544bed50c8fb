/**
 * Tools for daily work, by the names of their operations. A model that is shown all of them finds the right one less
 * often, and pays for their descriptions with each request; `/mcp?tools=all` shows the others too.
 */
export const DAILY_TOOLS: ReadonlySet<string> = new Set([
  ...['listTickets', 'getTicket', 'createTicket', 'updateTicket', 'changeManyTickets', 'listTicketActivity'],
  ...['addTicketLabels', 'removeTicketLabels', 'assignTicket', 'unassignTicket', 'listLabels', 'listUsers'],
  ...['listMessages', 'createMessage', 'getRecipients'],
  ...['listDrafts', 'getDraft', 'createDraft', 'updateDraft', 'deleteDraft', 'sendDraft'],
  ...['listContacts', 'getContact', 'getCompany', 'listMacros', 'applyMacro', 'createTimeEntry'],
])
