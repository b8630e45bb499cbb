// Asks a server through the unmodified GeoIP2 client and checks what it makes of the
// answers. Run by geoip_test.go: java -cp 'jars/*' Check.java HOST PORT
import com.maxmind.geoip2.WebServiceClient;
import com.maxmind.geoip2.exception.AddressNotFoundException;
import com.maxmind.geoip2.exception.AuthenticationException;
import com.maxmind.geoip2.exception.PermissionRequiredException;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.Callable;

class Check {
    static void same(Object got, Object want) {
        if (!want.equals(got)) throw new AssertionError("got " + got + ", wanted " + want);
    }

    static void refused(Class<? extends Exception> wanted, Callable<?> question) throws Exception {
        try {
            question.call();
        } catch (Exception e) {
            if (!wanted.isInstance(e) || e.getMessage().isEmpty()) throw e;
            return;
        }
        throw new AssertionError("no " + wanted.getSimpleName());
    }

    public static void main(String[] args) throws Exception {
        String host = args[0];
        int port = Integer.parseInt(args[1]);
        var client = new WebServiceClient.Builder(42, "secret").host(host).port(port).locales(List.of("de", "en")).build();
        var address = InetAddress.getByName("81.2.69.160");
        var city = client.city(address);
        same(city.city().name(), "Zürich");
        same(city.city().names().get("en"), "Zurich <i>&");
        same(city.city().geonameId(), 2657896L);
        same(city.country().isoCode(), "CH");
        same(city.continent().code(), "EU");
        same(city.registeredCountry().isInEuropeanUnion(), true);
        same(city.location().latitude(), 47.3682);
        same(city.location().longitude(), 8.5671);
        same(city.location().timeZone(), "Europe/Zurich");
        same(city.location().accuracyRadius(), 20);
        same(city.postal().code(), "8001");
        same(city.leastSpecificSubdivision().isoCode(), "ZH");
        same(city.traits().ipAddress(), address);
        same(city.traits().autonomousSystemNumber(), 559L);
        same(city.traits().isAnycast(), true);
        same(city.traits().network().toString(), "81.2.69.0/24");

        var country = client.country(InetAddress.getByName("2a00:1::1"));
        same(country.country().isoCode(), "DE");
        same(country.country().isInEuropeanUnion(), true);

        refused(AddressNotFoundException.class, () -> client.city(InetAddress.getByName("10.0.0.1")));
        refused(AddressNotFoundException.class, () -> client.city(InetAddress.getByName("99.1.2.3")));
        refused(AddressNotFoundException.class, () -> client.country(InetAddress.getByName("2606:4700::1111")));
        refused(AddressNotFoundException.class, client::country); // "me" is 127.0.0.1
        refused(PermissionRequiredException.class, () -> client.insights(address));
        var wrong = new WebServiceClient.Builder(42, "wrong").host(host).port(port).build();
        refused(AuthenticationException.class, () -> wrong.city(address));
        var stranger = new WebServiceClient.Builder(43, "secret").host(host).port(port).build();
        refused(AuthenticationException.class, () -> stranger.country(address));
        System.out.println("city, country, reserved, not found, me, insights, unauthorised: as expected");
    }
}
