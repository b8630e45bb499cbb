import java.math.BigDecimal;

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PlacesApi;
import org.openapitools.client.model.PlaceList;

/** A client that OpenAPI Generator made asks the server whose address is given. */
public class Client {
    public static void main(String[] args) throws ApiException {
        ApiClient client = new ApiClient();
        client.updateBaseUri(args[0]);
        PlacesApi places = new PlacesApi(client);
        PlaceList nearby = near(places, "47.5");
        if (nearby.getPlaces().size() != 3) {
            throw new AssertionError(nearby);
        }
        try {
            throw new AssertionError(near(places, "91"));
        } catch (ApiException refused) {
            if (refused.getCode() != 400) {
                throw refused;
            }
        }
        System.out.println(nearby.getPlaces().get(0).getName());
    }

    private static PlaceList near(PlacesApi places, String lat) throws ApiException {
        return places.getPlacesNearby(new BigDecimal(lat), new BigDecimal("6.5"), null, null, 3, null, null, null, null, null, null, null, null, null);
    }
}
