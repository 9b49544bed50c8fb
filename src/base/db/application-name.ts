/** Tells connections of the service from those of others. Every release has used this name. */
export const APPLICATION_NAME = 'deskwire'
